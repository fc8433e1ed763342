// FlatBuffers messages as plain C++ values: decode<T>(bytes) and encode(value), for T one of the object-API
// structs of zomboss/schema/*.h. This is the only place that names flatbuffers::Verifier or reads a root.
//
// decode trusts nothing: it caps the size, copies the bytes (the sender cannot change them under us),
// verifies the identifier and every offset with limits on depth and tables, and unpacks into values. It does
// not check meaning: ranges, references and duplicates are for the reader of the message.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/feedback_generated.h"
#include "zomboss/schema/files_generated.h"
#include "zomboss/schema/model_generated.h"
#include "zomboss/schema/options_generated.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/schema/policy_generated.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/proposal_generated.h"
#include "zomboss/schema/schedule_generated.h"
#include "zomboss/schema/simulation_generated.h"
#include "zomboss/schema/state_generated.h"
#include "zomboss/schema/surface_generated.h"
#include "zomboss/schema/tensors_generated.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss {

using Bytes = std::span<const uint8_t>;

// The name and file identifier of a root table.
template <typename Table>
struct MessageTraits;

#define ZB_MESSAGE(Table, identifier)                      \
  template <>                                              \
  struct MessageTraits<wire::Table> {                      \
    static constexpr const char* kName = #Table;           \
    static constexpr const char* kIdentifier = identifier; \
  }
ZB_MESSAGE(Bound, "ZBBD");
ZB_MESSAGE(FeedbackBatch, "ZBFB");
ZB_MESSAGE(Files, "ZBFL");
ZB_MESSAGE(Model, "ZBMD");
ZB_MESSAGE(Options, "ZBOP");
ZB_MESSAGE(Plan, "ZBPL");
ZB_MESSAGE(Program, "ZBPG");
ZB_MESSAGE(Proposal, "ZBPP");
ZB_MESSAGE(Schedule, "ZBSC");
ZB_MESSAGE(SearchContext, "ZBPC");
ZB_MESSAGE(SearchState, "ZBST");
ZB_MESSAGE(Simulation, "ZBSM");
ZB_MESSAGE(Surface, "ZBSF");
ZB_MESSAGE(Tensors, "ZBTN");
ZB_MESSAGE(Workload, "ZBWL");
#undef ZB_MESSAGE

struct DecodeLimits {
  size_t bytes = size_t{1} << 30;  // far below the 2 GiB at which the verifier asserts
  uint32_t depth = 32;
  uint32_t tables = 1'000'000;
};

// T is e.g. wire::PlanT. Data loss when the bytes are not a well-formed T.
template <typename T>
Result<T> decode(Bytes bytes, const DecodeLimits& limits = {}) {
  using Table = typename T::TableType;
  using Traits = MessageTraits<Table>;
  const auto refuse = [&](const char* why) {
    return data_loss(std::string("not a valid ") + Traits::kName + " message of " +
                     std::to_string(bytes.size()) + " bytes: " + why);
  };
  if (bytes.size() > limits.bytes) return refuse("larger than the limit");
  if (bytes.size() < 8) return refuse("too short");
  auto copy = std::make_unique<uint8_t[]>(bytes.size());  // operator new aligns for every scalar
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  if (!flatbuffers::BufferHasIdentifier(copy.get(), Traits::kIdentifier)) return refuse("wrong identifier");
  flatbuffers::Verifier verifier(copy.get(), bytes.size(), limits.depth, limits.tables);
  if (!verifier.VerifyBuffer<Table>(Traits::kIdentifier)) return refuse("damaged");
  T value;
  flatbuffers::GetRoot<Table>(copy.get())->UnPackTo(&value);
  return value;
}

// The bytes of a message. Deterministic: equal values give equal bytes.
template <typename T>
std::string encode(const T& value) {
  using Table = typename T::TableType;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &value), MessageTraits<Table>::kIdentifier);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace zomboss
