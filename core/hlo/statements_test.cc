#include <charconv>

#include "core/hlo/test_util.h"

namespace zomboss::hlo {
namespace {

Shape shape_of(DType dtype, std::vector<int64_t> dims) {
  Shape shape;
  shape.dtype = dtype;
  shape.dims = std::move(dims);
  return shape;
}

// Parses the part of `text` between '<' and '>'. Knows n = 4, DIM = 8 and products of two of them.
class Block {
 public:
  explicit Block(const std::string& text) : source_("t.taidl", text), diagnostics_(source_) {
    const std::vector<std::pair<std::string, Shape>> tensors = {{"x", shape_of(DType::S8, {4, 8})},
                                                                {"w", shape_of(DType::S8, {8, 8})},
                                                                {"f", shape_of(DType::F32, {})}};
    StatementScope scope;
    scope.tensors = tensors;
    scope.evaluate = [this](size_t begin, size_t end) { return evaluate(begin, end); };
    module_ = parse_statements(source_, text.find('<') + 1, text.find('>'), scope, diagnostics_);
  }
  bool ok() const { return module_.ok(); }
  const Module& module() const { return *module_; }
  std::string errors() const {
    std::string out;
    for (const Diagnostic& diagnostic : diagnostics_.all()) out += diagnostics_line(diagnostic) + "\n";
    return out;
  }

 private:
  std::optional<int64_t> evaluate(size_t begin, size_t end) {
    int64_t product = 1;
    std::string_view rest = source_.text().substr(begin, end - begin);
    while (!rest.empty()) {
      const size_t star = std::min(rest.find('*'), rest.size());
      const std::string_view word = rest.substr(0, star);
      rest.remove_prefix(std::min(star + 1, rest.size()));
      int64_t number = word == "n" ? 4 : word == "DIM" ? 8 : word == "minus" ? -1 : 0;
      std::from_chars(word.data(), word.data() + word.size(), number);
      if (number == 0) {
        diagnostics_.error(source_.location(begin), "unknown name '" + std::string(word) + "'");
        return std::nullopt;
      }
      product *= number;
    }
    return product;
  }

  Source source_;
  Diagnostics diagnostics_;
  Result<Module> module_ = internal_error("not parsed");
};

TEST(ParseStatements, BuildsAComputationFromABlock) {
  const Block block(R"(instr mac {
  sem <
      xi = s32[n,DIM] convert(x)   # a comment
      wi = s32[DIM,DIM] convert(w);
      p  = s32[n,DIM] dot(xi, wi), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      k  = s32[] constant(2*n)
      kb = s32[n, DIM] broadcast(k), dimensions={}
      r  = shift-right-arithmetic(p, kb) ; m = s8[] constant(minus*n)
      c  = s32[n*2,2*2] reshape(slice(r), slice={[0:n:2], [0:DIM]})
    >
})");
  EXPECT_EQ(block.errors(), "9:7: reshape: s32[2,8] has 16 elements, s32[8,4] has 32\n");
  EXPECT_FALSE(block.ok());
}

TEST(ParseStatements, ResolvesFreeNamesAndExpressions) {
  const Block block(
      "<xi = s32[n,DIM] convert(x)\nv = s32[n*2,DIM] concatenate(xi, xi), dimensions={0}\n"
      "t = (s8[4,8], f32[]) tuple(x, f)\ny = negate(t#1)#fine\nz = f32[] constant(n)\n"
      "h = f32[] constant(0.5)\nio = s32[DIM] iota(), iota_dimension=0 # last\n>");
  ASSERT_TRUE(block.ok()) << block.errors();
  const Computation& c = block.module().entry_computation();
  EXPECT_EQ(c.parameters, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(c.instructions[0].name, "x");
  EXPECT_EQ(c.instructions[*find_instruction(c, "v")].shape.text(), "s32[8,8]");
  EXPECT_EQ(c.instructions[*find_instruction(c, "xi")].where, (Location{1, 2}));
  EXPECT_EQ(c.instructions[*find_instruction(c, "z")].literal->bytes, std::string("\0\0\200\100", 4));
  EXPECT_EQ(c.root, c.instructions.size() - 1);
  parse_good(print(block.module()));
}

TEST(ParseStatements, MakesReducersOfTheOperandType) {
  const Block block(
      "<a = s32[n,DIM] convert(x)\nz = s32[] constant(0)\ns = reduce(a, z), dimensions={1}, to_apply=add\n"
      "m = s32[DIM] reduce(a, z), dimensions={0}, to_apply=maximum\n"
      "q = f32[] reduce(f32[2] broadcast(f), f), dimensions={0}, to_apply=add\n"
      "b = reduce(a, z), dimensions={0}, to_apply=add>");
  ASSERT_TRUE(block.ok()) << block.errors();
  const Module& m = block.module();
  ASSERT_EQ(m.computations.size(), 4u);
  EXPECT_EQ(m.computations[0].name, "add.s32");
  EXPECT_EQ(m.computations[1].name, "maximum.s32");
  EXPECT_EQ(m.computations[2].name, "add.f32");
  EXPECT_EQ(at(m, "b").attributes.calls, std::vector<uint32_t>{0});
  EXPECT_EQ(at(m, "b").shape.text(), "s32[8]");
  parse_good(print(m));
}

TEST(ParseStatements, ReportsErrorsAtTheirPlaceInTheFile) {
  EXPECT_EQ(
      Block("target {\n  <y = s8[n,BAD] negate(x)\n   z = s8[4,8] add(x, y)\n   q = s8[n,DIM] add(x, xx)>")
          .errors(),
      "2:13: unknown name 'BAD'\n4:25: 'xx' is not defined before this use | did you mean 'x'?\n");
  EXPECT_EQ(Block("<>").errors(),
            "1:2: the block has no statement | expected 'name = type[dims] opcode(operands)'\n");
  EXPECT_EQ(Block("<y = s8[n*minus,8] negate(x)>").errors(), "1:9: a dimension cannot be -4\n");
  EXPECT_EQ(Block("<p = s8[] parameter(0)>").errors(),
            "1:21: a statement block has no parameters | use the operand's name itself\n");
  EXPECT_EQ(Block("<x = s8[] constant(1)>").errors(), "1:2: 'x' is defined twice in 'block'\n");
  EXPECT_EQ(Block("<y = s8[] constant(n*n*n*n)>").errors(),
            "1:20: 256 is out of range | s8 holds -128 to 127\n");
  EXPECT_EQ(Block("<s = reduce(x, s8[] constant(0)), dimensions={0}, to_apply=sum>").errors(),
            "1:60: computation 'sum' is not defined before this use | a statement block knows add, multiply, "
            "maximum, "
            "minimum, and, or\n");
  EXPECT_EQ(Block("<y = s8[4,8] negate(x) }>").errors(), "1:24: expected a statement, found '}'\n");
}

TEST(ParseStatements, KeepsEarlierErrorsOfTheCallerApart) {
  const Source source("t", "y = s8[] negate(x)");
  Diagnostics diagnostics(source);
  diagnostics.error({}, "an earlier one");
  const std::vector<std::pair<std::string, Shape>> tensors = {{"x", shape_of(DType::S8, {})}};
  StatementScope scope;
  scope.tensors = tensors;
  EXPECT_TRUE(parse_statements(source, 0, source.text().size(), scope, diagnostics).ok());
  EXPECT_EQ(diagnostics.errors(), 1u);
}

}  // namespace
}  // namespace zomboss::hlo
