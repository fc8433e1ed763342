// Literals: values, ranges, and texts that read back to the same bits.
#include <fmt/format.h>

#include <cmath>

#include "core/hlo/number.h"
#include "core/hlo/test_util.h"
#include "zomboss/sdk/random.h"

namespace zomboss::hlo {
namespace {

std::string bytes_of(const std::string& type, const std::string& value) {
  const Module m = parse_good(entry("c = " + type + " constant(" + value + ")"));
  const Instruction& c = at(m, "c");
  return c.literal ? c.literal->bytes : "no literal";
}

uint64_t bits_of(const std::string& type, const std::string& value) {
  const std::string bytes = bytes_of(type + "[]", value);
  return load_bits(*dtype_from_name(type), bytes.data());
}

std::string refusal(const std::string& type, const std::string& value) {
  return diagnose(entry("c = " + type + " constant(" + value + ")"));
}

TEST(Literal, ReadsNestedBracesOfEveryRank) {
  EXPECT_EQ(bytes_of("s8[2,3]", "{ { 1, 2, 3 }, {-4,5,6} }"), std::string("\1\2\3\374\5\6"));
  EXPECT_EQ(bytes_of("u8[2,1,2]", "{ /*i0=0*/ { /*i1=0*/ {1, 2} }, /*i0=1*/ {{3,4}} }"), "\1\2\3\4");
  EXPECT_EQ(bytes_of("pred[4]", "{1,0,true, false}"), std::string("\1\0\1\0", 4));
  EXPECT_EQ(bytes_of("s4[3]", "{-8, 7, 0}"), std::string("\370\7\0", 3));
  EXPECT_EQ(bytes_of("u16[2]", "{258, 65535}"), "\2\1\377\377");
  EXPECT_EQ(bytes_of("f32[2,0]", "{{},{}}"), "");
  EXPECT_EQ(bytes_of("f32[2,0]", "{}"), "");
  EXPECT_EQ(bytes_of("f32[0,1000000000000]", "{}"), "");
  EXPECT_EQ(bytes_of("c64[]", "(1, -2)"), std::string("\0\0\200\77\0\0\0\300", 8));
  EXPECT_EQ(bytes_of("s32[1]", "5"), std::string("\5\0\0\0", 4));
}

TEST(Literal, ReadsEverySpellingOfNumbers) {
  EXPECT_EQ(bits_of("f32", "1"), 0x3f800000u);
  EXPECT_EQ(bits_of("f32", ".5"), 0x3f000000u);
  EXPECT_EQ(bits_of("f32", "5."), 0x40a00000u);
  EXPECT_EQ(bits_of("f32", "3e+2"), 0x43960000u);
  EXPECT_EQ(bits_of("f32", "1.001e-05"), 0x3727f09fu);
  EXPECT_EQ(bits_of("f32", "-0"), 0x80000000u);
  EXPECT_EQ(bits_of("f32", "1e-45"), 1u);
  EXPECT_EQ(bits_of("f32", "1e-60"), 0u);
  EXPECT_EQ(bits_of("f32", "-inf"), 0xff800000u);
  EXPECT_EQ(bits_of("f32", "nan"), 0x7fc00000u);
  EXPECT_EQ(bits_of("f32", "-nan"), 0xffc00000u);
  EXPECT_EQ(bits_of("f32", "nan(0x7f)"), 0x7f80007fu);
  EXPECT_EQ(bits_of("bf16", "-nan(0x1)"), 0xff81u);
  EXPECT_EQ(bits_of("f64", "5e-324"), 1u);
  EXPECT_EQ(bits_of("u64", "-1"), ~uint64_t{0});
  EXPECT_EQ(bits_of("u64", "18446744073709551615"), ~uint64_t{0});
  EXPECT_EQ(bits_of("f16", "65519"), 0x7bffu);
  EXPECT_EQ(bits_of("f8e4m3fn", "448"), 0x7eu);
  // Rounded once: just above the middle of two floats, but equal to it as a double.
  EXPECT_EQ(bits_of("f32", "1.00000005960464477539062500000001"), 0x3f800001u);
}

TEST(Literal, ReadsTuplesAndElidedValues) {
  const Module m =
      parse_good(entry("t = (f32[], (s8[2], pred[])) constant((1.5, ({1, 2}, true)))\n"
                       "e = f32[100000000,7] constant({...})\nf = f32[2,2] constant({{1,2},{...}})\n"
                       "g = (f32[2], f32[]) constant(({...}, 1))"));
  EXPECT_EQ(at(m, "t").literal->elements[1].elements[0].bytes, "\1\2");
  EXPECT_TRUE(at(m, "e").literal->elided);
  EXPECT_EQ(at(m, "e").literal->bytes, "");
  EXPECT_TRUE(at(m, "f").literal->elided);
  EXPECT_EQ(at(m, "f").literal->bytes, "");
  EXPECT_TRUE(at(m, "g").literal->elided);
}

TEST(Literal, TurnsAScalarZeroForAnArrayIntoABroadcast) {
  const Module m = parse_good(entry("c = f32[1000000,1000000] constant(0)\nd = pred[9] constant(false)"));
  EXPECT_EQ(at(m, "c").opcode, "broadcast");
  EXPECT_EQ(m.entry_computation().instructions[at(m, "c").operands[0]].literal->bytes, std::string(4, '\0'));
  EXPECT_EQ(at(m, "d").opcode, "broadcast");
  EXPECT_EQ(
      refusal("f32[32]", "5"),
      "2:22: a scalar other than 0 cannot fill the constant f32[32] | write all elements, or broadcast a "
      "scalar constant\n");
}

TEST(Literal, ChecksTheRangeOfEachType) {
  EXPECT_EQ(refusal("f16[]", "-65520"), "2:20: '-65520' is out of range for f16\n");
  EXPECT_EQ(refusal("u4[]", "16"), "2:19: '16' is out of range | u4 holds 0 to 15\n");
  EXPECT_EQ(refusal("u32[]", "4294967296"),
            "2:20: '4294967296' is out of range | u32 holds 0 to 4294967295\n");
  EXPECT_EQ(refusal("u8[]", "-1"), "2:19: '-1' is out of range | u8 holds 0 to 255\n");
  EXPECT_EQ(refusal("s64[]", "9223372036854775808"),
            "2:20: '9223372036854775808' is out of range | s64 holds -9223372036854775808 to "
            "9223372036854775807\n");
  EXPECT_EQ(refusal("f32[]", "3.5e38"), "2:20: '3.5e38' is out of range for f32\n");
  EXPECT_EQ(refusal("f64[]", "1e400"), "2:20: '1e400' is out of range for f64\n");
  EXPECT_EQ(refusal("f8e4m3fn[]", "465"), "2:25: '465' is out of range for f8e4m3fn\n");
  EXPECT_EQ(refusal("f4e2m1fn[]", "7.1"), "2:25: '7.1' is out of range for f4e2m1fn\n");
  EXPECT_EQ(refusal("f8e8m0fnu[]", "0"),
            "2:26: '0' is out of range for f8e8m0fnu, which holds powers of two only\n");
  EXPECT_EQ(refusal("f4e2m1fn[]", "nan"), "2:25: f4e2m1fn has no nan\n");
  EXPECT_EQ(refusal("f8e4m3fn[]", "inf"), "2:25: f8e4m3fn has no infinity\n");
  EXPECT_EQ(refusal("f32[]", "nan(0x800000)"), "2:24: '0x800000' is no nan payload of f32\n");
  EXPECT_EQ(refusal("s32[]", "1.5"), "2:20: expected a whole number for s32, found '1.5'\n");
  EXPECT_EQ(refusal("pred[]", "2"), "2:21: expected true, false, 1 or 0 for pred, found '2'\n");
}

TEST(Literal, ChecksTheCountOfElements) {
  EXPECT_EQ(refusal("s8[2,2]", "{{1,2},{3}}"), "2:29: dimension 1 of s8[2,2] needs 2 elements, found 1\n");
  EXPECT_EQ(refusal("s8[2]", "{1,2,3}"), "2:25: dimension 0 of s8[2] has 2 elements, here are more\n");
  EXPECT_EQ(refusal("s8[2,2]", "{1,2}"),
            "2:23: expected '{' to open dimension 1 of the constant s8[2,2], found '1'\n");
  EXPECT_EQ(refusal("s8[]", "{1}"), "2:19: expected a whole number for s8, found '{'\n");
  EXPECT_EQ(refusal("token[]", "0"), "2:22: a constant cannot be token[]\n");
  EXPECT_EQ(refusal("(s8[])", "({1}"), "2:22: expected a whole number for s8, found '{'\n");
}

// Every bit pattern of the small types, random ones of the others, through the printer and back.
TEST(Literal, PrintsTextThatReadsBackToTheSameBits) {
  Random random(3, 1);
  for (int type = static_cast<int>(DType::Pred); type <= static_cast<int>(DType::C128); ++type) {
    const auto dtype = static_cast<DType>(type);
    Literal literal;
    const int width = dtype == DType::Pred ? 1 : dtype_bits(dtype);
    const int64_t elements = width <= 16 ? int64_t{1} << width : 4096;
    for (int64_t i = 0; i < elements; ++i) {
      if (dtype == DType::C64 || dtype == DType::C128) {
        const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
        for (int k = 0; k < 2; ++k) append_bits(part, random.next_u64(), literal.bytes);
      } else {
        uint64_t bits = width <= 16 ? static_cast<uint64_t>(i) : random.next_u64();
        if (is_signed(dtype) && width < 8 && (bits >> (width - 1) & 1) != 0) bits |= 0xffu << width;
        append_bits(dtype, bits, literal.bytes);
      }
    }
    literal.shape.dtype = dtype;
    literal.shape.dims = {elements};
    EXPECT_TRUE(bytes_of(literal.shape.text(), print(literal)) == literal.bytes) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace zomboss::hlo
