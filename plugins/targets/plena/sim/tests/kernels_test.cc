#include "plugins/targets/plena/sim/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace zomboss::plena {
namespace {

using Row = std::vector<float>;

// Any bits: normal, subnormal, infinite, NaN; or numbers of like size, whose sums show their order.
Row random_row(std::mt19937& generator, size_t count, bool any_bits) {
  Row row(count);
  for (float& value : row) {
    const auto bits = static_cast<uint32_t>(generator());
    value = any_bits ? std::bit_cast<float>(bits) : static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-28f;
  }
  return row;
}

// The first element in which the rows differ, NaNs being one class, or "".
std::string difference(const Row& a, const Row& b) {
  for (size_t n = 0; n < a.size(); ++n) {
    if (std::isnan(a[n]) && std::isnan(b[n])) continue;
    if (std::bit_cast<uint32_t>(a[n]) != std::bit_cast<uint32_t>(b[n])) {
      return "element " + std::to_string(n) + ": " + std::to_string(a[n]) + " and " + std::to_string(b[n]);
    }
  }
  return "";
}

class Pair {
 public:
  Pair(const Row& a, const Row& b) : a_(a), b_(b), first_(a.size()), second_(a.size()) {}

  std::string binary(Kernels::Binary Kernels::*kernel) {
    (portable_.*kernel)(a_.data(), b_.data(), first_.data(), a_.size());
    (best_.*kernel)(a_.data(), b_.data(), second_.data(), a_.size());
    return difference(first_, second_);
  }
  std::string with_scalar(Kernels::WithScalar Kernels::*kernel) {
    (portable_.*kernel)(a_.data(), b_[0], first_.data(), a_.size());
    (best_.*kernel)(a_.data(), b_[0], second_.data(), a_.size());
    return difference(first_, second_);
  }
  std::string unary(Kernels::Unary Kernels::*kernel) {
    (portable_.*kernel)(a_.data(), first_.data(), a_.size());
    (best_.*kernel)(a_.data(), second_.data(), a_.size());
    return difference(first_, second_);
  }
  std::string reduce(Kernels::Reduce Kernels::*kernel) {
    return difference({(portable_.*kernel)(a_.data(), a_.size())}, {(best_.*kernel)(a_.data(), a_.size())});
  }

 private:
  const Kernels& portable_ = portable_kernels();
  const Kernels& best_ = best_kernels();
  Row a_, b_, first_, second_;
};

TEST(PlenaKernels, AllTablesGiveTheSameBitsOnRows) {
  std::mt19937 generator(1);
  for (size_t count = 1; count < 700; count += count < 70 ? 1 : 37) {
    for (const bool any_bits : {false, true}) {
      SCOPED_TRACE(count);
      Pair pair(random_row(generator, count, any_bits), random_row(generator, count, any_bits));
      for (const auto kernel : {&Kernels::add_rows, &Kernels::subtract_rows, &Kernels::multiply_rows})
        EXPECT_EQ(pair.binary(kernel), "");
      for (const auto kernel :
           {&Kernels::add_scalar, &Kernels::subtract_scalar, &Kernels::subtract_scalar_reversed,
            &Kernels::multiply_scalar, &Kernels::max_scalar, &Kernels::min_scalar})
        EXPECT_EQ(pair.with_scalar(kernel), "");
      for (const auto kernel : {&Kernels::reciprocal_row, &Kernels::round_to_bf16})
        EXPECT_EQ(pair.unary(kernel), "");
      for (const auto kernel : {&Kernels::sum_row, &Kernels::max_row}) EXPECT_EQ(pair.reduce(kernel), "");
    }
  }
}

// The definition, one operation at a time.
Row plain_dots(const DotArguments& a, Row accumulator) {
  for (size_t i = 0; i < a.row_count; ++i) {
    for (size_t j = 0; j < a.width; ++j) {
      float sum = 0.0f;
      for (size_t k = 0; k < a.depth; ++k) {
        const float product = a.rows[i][k * a.step] * a.matrix[k * a.pitch + j];
        sum += product;
      }
      accumulator[i * a.width + j] += a.scale * sum;
    }
  }
  return accumulator;
}

TEST(PlenaKernels, DotsAddAscendinglyInEveryTableAndShape) {
  std::mt19937 generator(2);
  for (const size_t width : {1u, 3u, 4u, 7u, 8u, 12u, 16u, 31u, 64u}) {
    for (const size_t rows : {1u, 2u, 4u, 5u, 9u}) {
      const size_t depth = 1 + generator() % 40;
      DotArguments a;
      a.step = 1 + generator() % 3;
      a.pitch = width + generator() % 5;
      const Row matrix = random_row(generator, depth * a.pitch, false);
      const Row vectors = random_row(generator, rows * depth * a.step, false);
      const Row start = random_row(generator, rows * width, false);
      std::vector<const float*> pointers;
      for (size_t i = 0; i < rows; ++i) pointers.push_back(vectors.data() + i * depth * a.step);
      a.rows = pointers.data();
      a.row_count = rows;
      a.matrix = matrix.data();
      a.width = width;
      a.depth = depth;
      a.scale = 0.25f;
      const Row expected = plain_dots(a, start);
      for (const Kernels* kernels : {&portable_kernels(), &best_kernels()}) {
        Row got = start;
        a.accumulator = got.data();
        kernels->accumulate_dots(a);
        EXPECT_EQ(difference(got, expected), "") << width << " wide, " << rows << " rows";
      }
    }
  }
}

TEST(PlenaKernels, ComparisonsKeepNansAndTheFirstOperandOnTies) {
  const float nan = std::nanf("");
  for (const Kernels* kernels : {&portable_kernels(), &best_kernels()}) {
    const Row a = {-0.0f, nan, 2.0f};
    Row out(3);
    kernels->max_scalar(a.data(), 0.0f, out.data(), 3);
    EXPECT_TRUE(std::signbit(out[0]));
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_EQ(out[2], 2.0f);
    kernels->min_scalar(a.data(), nan, out.data(), 3);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[2]));
    EXPECT_TRUE(std::isnan(kernels->max_row(a.data(), 3)));
    EXPECT_EQ(kernels->max_row(a.data() + 2, 1), 2.0f);
  }
}

}  // namespace
}  // namespace zomboss::plena
