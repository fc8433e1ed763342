// How tensors lie in a target's memory when that is not their HLO type, as exact mathematics on values: what
// a stored value is when it is loaded again. Independent of the number formats of plugin-api/kit. Pure; any
// thread may call.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/oracle/tensor.h"

namespace zomboss::oracle {

// kExact: the values as they are. kMxfp8: blocks of 8 along one dim with a power of two (E8M0) as common
// scale; elements E4M3 with bias 7, exponent field 15 for infinity and NaN, so 240 is the largest, and with
// subnormals m/8 * 2^-7, half of what IEEE has.
enum class Storage : uint8_t { kExact, kMxfp8 };

constexpr size_t kStorageBlock = 8;

const std::vector<std::string>& storage_names();  // {"exact", "mxfp8"}
std::string_view storage_name(Storage storage);
std::optional<Storage> storage_from_name(std::string_view name);

// True for the element types whose stored values are exact in them: bf16, f32, f64.
bool storable(DType dtype, Storage storage);

// Inputs. Each element becomes the nearest representable value, ties to the even code; the scale is
// 2^(floor(log2 max|x|) - 6). A block that an encoder finds exact at half that scale stays as it is, which
// makes the rounding idempotent. Blocks below 2^-117 become zero; infinities and NaN stay and do not count
// for the scale; above 240 * 2^120 the values are limited to that. Every result is exact in bf16. `block`
// holds at most kStorageBlock values.
void round_nearest_block(std::span<double> block);
// Blocks along the last dim, the last one of a row shorter if need be. Invalid argument when not storable.
Status round_nearest(Tensor& tensor, Storage storage);

// Values on the way through memory and back, as the PLENA machine's store quantises them: a scale of
// 2^floor(log2f(max + 1e-9)), truncation to quarters of a step before rounding half to even, no carry into
// the exponent, NaN to the scale itself; -0 only for a negative value that is too small.
void round_store_block(std::span<float> block);
// The same over `dims` (row-major), blocks along `dim`. Values are rounded to bf16 first, the type of the
// vector memory that the machine stores from. That matters: without it one code in 50 differs, and with it
// one output in 20 of a small attention by more than its tolerance.
void round_store(std::span<double> values, std::span<const int64_t> dims, int64_t dim);

}  // namespace zomboss::oracle
