#include "plugins/targets/plena/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "plugins/targets/plena/features.h"
#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {
namespace {

using wire::Category;
using wire::KnobType;

struct KnobSpec {
  const char* name;
  Category category;
  const char* doc;
  std::function<void(Choices&, int64_t)> set;
  std::vector<int64_t> values;      // the default first
  std::vector<std::string> labels;  // of a choice
};

template <auto Member>
std::function<void(Choices&, int64_t)> setter() {
  return [](Choices& choices, int64_t value) {
    using Type = std::remove_reference_t<decltype(choices.*Member)>;
    choices.*Member = static_cast<Type>(value);
  };
}

constexpr int64_t value_of(auto choice) {
  return static_cast<int64_t>(choice);
}

// All of the target's knobs with the domains that make sense for the problem; a knob with one value is not
// published.
class KnobTable {
 public:
  KnobTable(const Problem& problem, const Machine& machine, bool broadcast)
      : f_(features_of(problem, machine)), machine_(machine), broadcast_(broadcast && machine.broadcast) {
    algorithm(problem);
    decomposition();
    placement();
    loops();
  }
  const std::vector<KnobSpec>& knobs() const { return knobs_; }

 private:
  void choice(const char* name, Category category, const char* doc,
              std::function<void(Choices&, int64_t)> set,
              std::vector<std::pair<int64_t, const char*>> values) {
    KnobSpec spec{name, category, doc, std::move(set), {}, {}};
    for (const auto& [value, label] : values) {
      spec.values.push_back(value);
      spec.labels.emplace_back(label);
    }
    knobs_.push_back(std::move(spec));
  }
  void integer(const char* name, Category category, const char* doc,
               std::function<void(Choices&, int64_t)> set, std::vector<int64_t> values) {
    knobs_.push_back({name, category, doc, std::move(set), std::move(values), {}});
  }

  std::vector<std::pair<int64_t, const char*>> forms(bool transposed) const {
    std::vector<std::pair<int64_t, const char*>> result = {{value_of(ProductForm::kArray), "array"}};
    if (!broadcast_) return result;
    if (machine_.broadcast_matrix) {
      result.emplace_back(value_of(ProductForm::kSpread), "spread");
      result.emplace_back(value_of(ProductForm::kShift), "shift");
    }
    if (transposed) {
      result.emplace_back(value_of(ProductForm::kRowPack), "row_pack");
      result.emplace_back(value_of(ProductForm::kRowShift), "row_shift");
    }
    return result;
  }

  void algorithm(const Problem& problem) {
    const Category c = Category::Algorithm;
    if (f_.matmul)
      choice("matmul_form", c,
             "products of several rows: on the array (M_MM, M_TMM); in the broadcast forms with copies "
             "spread through a "
             "constant tile or made by shifts; for [out, in] matrices row by row (M_BTMV), packed or shifted",
             setter<&Choices::matmul>(), forms(f_.transposed_matmul));
    if (f_.matvec)
      choice("matvec_form", c, "the same for products of a single row", setter<&Choices::matvec>(),
             forms(f_.transposed_matvec));
    if (f_.rope_load)
      choice("rope_turn", c,
             "the features that a rotation adds come from a second load half a row later, or from a product "
             "with a "
             "constant tile",
             setter<&Choices::rope_turn>(),
             {{value_of(RopeTurn::kLoad), "load"}, {value_of(RopeTurn::kProduct), "product"}});
    if (f_.residual) {
      const std::pair<int64_t, const char*> separate = {0, "separate"}, accumulated = {1, "accumulated"};
      choice("residual_sum", c,
             "what is added to a product: in the vector engine, or, rounded once, through the product's "
             "accumulators",
             setter<&Choices::accumulate_residuals>(),
             f_.precise && f_.most_inner < machine_.mram_tiles ? std::vector{accumulated, separate}
                                                               : std::vector{separate, accumulated});
    }
    if (f_.attention) {
      choice("scores_form", c, "the same for queries times keys", setter<&Choices::scores>(), forms(true));
      choice("weighted_form", c, "the same for probabilities times values", setter<&Choices::weighted>(),
             forms(false));
    }
    // An online softmax keeps three numbers of each row in the FP SRAM, beside some constants.
    if (f_.online && 3 * f_.most_attention_rows + 64 <= machine_.fp_slots)
      choice("softmax_form", c,
             "all scores of a head before their softmax, or one tile of keys after the other with a running "
             "maximum and sum",
             setter<&Choices::softmax>(),
             {{value_of(SoftmaxForm::kWhole), "whole"}, {value_of(SoftmaxForm::kOnline), "online"}});
    if (f_.softmax) {
      std::vector<std::pair<int64_t, const char*>> sums = {{value_of(RowSum::kPerVector), "per_vector"}};
      if (f_.wide_softmax) sums.emplace_back(value_of(RowSum::kAddFirst), "add_first");
      if (f_.projected && broadcast_ && machine_.broadcast_matrix)
        sums.emplace_back(value_of(RowSum::kOnesColumn), "ones_column");
      choice("row_sum", c,
             "sums of a softmax: V_RED_SUM of each vector, of the sum of a row's vectors, or a column of "
             "ones beside the "
             "values with the division after the product",
             setter<&Choices::row_sum>(), std::move(sums));
    }
    if (f_.wide_norm)
      choice("norm_sums", Category::VectorDecomposition,
             "V_RED_SUM of each vector of a row, or of the sum of its vectors", setter<&Choices::norm_sums>(),
             {{value_of(NormSums::kPerVector), "per_vector"}, {value_of(NormSums::kAddFirst), "add_first"}});
    if (f_.layer_norm)
      choice(
          "layer_norm_form", c, "variance of x - E[x], or as E[x^2] - E[x]^2", setter<&Choices::layer_norm>(),
          {{value_of(LayerNormForm::kCentered), "centered"}, {value_of(LayerNormForm::kMoments), "moments"}});
    constexpr double kSigmoidError = 0.0204;  // of x / (1 + exp(-1.702 x)) against x * Phi(x), anywhere
    if (f_.gelu && problem.absolute_tolerance >= kSigmoidError)
      choice("gelu_form", c,
             "through tanh, or through the logistic function alone, where the tolerance allows",
             setter<&Choices::gelu>(),
             {{value_of(GeluForm::kTanh), "tanh"}, {value_of(GeluForm::kSigmoid), "sigmoid"}});
  }

  void decomposition() {
    const Category c = Category::MatrixDecomposition;
    if (broadcast_ && machine_.broadcast_matrix && f_.most_rows > machine_.mlen) {
      std::vector<int64_t> lanes;
      for (int64_t n = 1; n <= machine_.broadcast_amount; n *= 2) lanes.push_back(n);
      integer("lanes", c, "blocks of rows that share the lanes of a broadcast form",
              setter<&Choices::lanes>(), std::move(lanes));
    }
    std::vector<int64_t> columns;
    for (int64_t n = 1; n <= std::min<int64_t>(f_.most_columns, machine_.mram_tiles); n *= 2)
      columns.push_back(n);
    if (f_.matmul || f_.matvec || f_.attention)
      integer("column_block", c,
              "tiles of result columns whose matrix tiles are loaded together, as far as the working tiles "
              "hold them",
              setter<&Choices::column_block>(), std::move(columns));
    if (f_.chained)
      choice("vector_fusion", Category::VectorDecomposition,
             "operators that follow each other element by element: each over all vectors, or all of them "
             "vector by vector",
             setter<&Choices::fuse_vectors>(), {{0, "separate"}, {1, "fused"}});
    if (f_.grouped && f_.single_tile_heads)
      choice("head_group", c, "query heads of one key head: a product each, or the rows of one product",
             setter<&Choices::stack_heads>(), {{0, "separate"}, {1, "stacked"}});
  }

  void placement() {
    if (f_.matmul || f_.matvec || f_.attention) {
      std::vector<int64_t> tiles;
      const int64_t most = std::min<int64_t>(machine_.mram_tiles, f_.most_inner * f_.most_columns);
      int64_t n = 1;
      while (n < std::min<int64_t>(most, f_.most_inner)) n *= 2;
      const int64_t first = std::min<int64_t>(n, machine_.mram_tiles);
      tiles.push_back(first);
      for (int64_t each = 1; each <= machine_.mram_tiles && each < 2 * most; each *= 2) {
        if (each != first) tiles.push_back(each);
      }
      integer("working_tiles", Category::Placement,
              "tiles of the matrix SRAM for matrices that stream through", setter<&Choices::resident_tiles>(),
              std::move(tiles));
    }
    if (f_.computed_keys && f_.several_kv_heads)
      choice("kv_layout", Category::Placement,
             "computed keys and values in the HBM: rows of all heads, or head by head",
             setter<&Choices::kv_layout>(),
             {{value_of(KvLayout::kRowMajor), "row_major"}, {value_of(KvLayout::kPerHead), "per_head"}});
    if (f_.vector_inputs)
      choice("input_residency", Category::Placement,
             "vectors of an input stay in the vector SRAM, or are loaded for each stage",
             setter<&Choices::reload_vectors>(), {{0, "resident"}, {1, "reload"}});
    const std::vector<std::pair<int64_t, const char*>> orders = {
        {value_of(LoadOrder::kColumns), "column_major"}, {value_of(LoadOrder::kRows), "row_major"}};
    if (f_.most_columns > 1 && f_.most_inner > 1)
      choice("tile_order", Category::MemoryPipeline, "order in which the tiles of a column block are loaded",
             setter<&Choices::load_order>(), orders);
    if (f_.wide_inputs)
      choice("vector_order", Category::MemoryPipeline, "order in which the vectors of an input are loaded",
             setter<&Choices::vector_load_order>(), orders);
    if (f_.vector_inputs)
      choice("input_loads", Category::ExecutionPipeline,
             "vectors of inputs are loaded before their stage, or all at first",
             setter<&Choices::early_loads>(), {{0, "on_demand"}, {1, "up_front"}});
    if (f_.plain_norm) {
      const std::pair<int64_t, const char*> each = {0, "each_step"}, once = {1, "once"};
      choice("norm_rounding", Category::Precision,
             "a norm rounded at each step, or once with what single steps lose brought back",
             setter<&Choices::precise_norm>(),
             f_.odd_norm ? std::vector{once, each} : std::vector{each, once});
    }
    if (f_.precise_silu)
      choice("silu_rounding", Category::Precision,
             "SiLU with the roundings of its sum and reciprocal taken back, or rounded at each step",
             setter<&Choices::precise_silu>(), {{1, "once"}, {0, "each_step"}});
    if (f_.scaled) {
      std::vector<std::pair<int64_t, const char*>> folds = {{value_of(ScaleFold::kScores), "scores"},
                                                            {value_of(ScaleFold::kQuery), "query"}};
      if (broadcast_ && f_.scale_in_constant) folds.emplace_back(value_of(ScaleFold::kCopies), "copies");
      choice("score_scale", Category::Precision,
             "where scores are scaled: in the softmax, on the queries, or by the constants that make their "
             "copies",
             setter<&Choices::scale_fold>(), std::move(folds));
    }
  }

  void loops() {
    const Category c = Category::LoopStructure;
    const std::vector<int64_t> copies = {64, 1, 4, 16, 256, 1024};
    if (f_.matmul || f_.matvec || f_.attention) {
      integer("unroll_product", c, "copies of the innermost loops of a product",
              setter<&Choices::unroll_product>(), {16, 1, 4, 64, 256});
      if (f_.most_columns > 1)
        integer("unroll_column", c, "copies of the loop over tiles of columns",
                setter<&Choices::unroll_column>(), {1, 4, 16, 64});
    }
    if (f_.vectors)
      integer("unroll_vector", c, "copies of loops over vectors and rows", setter<&Choices::unroll_vector>(),
              copies);
    integer("unroll_load", c, "copies of loops over transfers", setter<&Choices::unroll_load>(),
            {16, 1, 4, 64, 256});
    choice("hoist", c, "numbers that do not change in a loop: made where they are used, or kept in registers",
           setter<&Choices::hoist>(), {{1, "yes"}, {0, "no"}});
    choice("write_address", c, "addresses of write-outs: in registers, or through the immediate",
           setter<&Choices::write_immediates>(), {{1, "immediate"}, {0, "register"}});
    choice("address_cache", c,
           "scalar registers that keep addresses for later uses: all, or those of one instruction",
           setter<&Choices::cached_numbers>(), {{15, "all"}, {3, "one_instruction"}});
  }

  const Features f_;
  const Machine& machine_;
  const bool broadcast_;
  std::vector<KnobSpec> knobs_;
};

void add_constraint(wire::SurfaceT& surface, const char* name, wire::ConstraintKind kind,
                    std::string assertion, std::string message, std::string needs = "",
                    std::string available = "") {
  auto constraint = std::make_unique<wire::ConstraintT>();
  constraint->name = name;
  constraint->kind = kind;
  constraint->assertion = std::move(assertion);
  constraint->message = std::move(message);
  constraint->needs = std::move(needs);
  constraint->available = std::move(available);
  surface.constraints.push_back(std::move(constraint));
}

// (ite (cond) 1 0) for a knob that has one of the values, or the number itself when the knob is not
// published.
template <typename Value>
std::string is_one_of(const std::set<std::string>& published, const char* knob,
                      std::initializer_list<Value> values, Value usual) {
  std::string terms;
  bool usual_is = false;
  for (const auto value : values) {
    terms += fmt::format(" (= {} {})", knob, value_of(value));
    usual_is = usual_is || value == usual;
  }
  if (!published.contains(knob)) return usual_is ? "true" : "false";
  return fmt::format("(or false{})", terms);
}

// Constant tiles stay in the matrix SRAM beside the working tiles.
void add_tile_capacity(wire::SurfaceT& surface, const Features& f, const Machine& machine,
                       const std::set<std::string>& published) {
  constexpr ProductForm kSpread = ProductForm::kSpread, kPack = ProductForm::kRowPack,
                        kArray = ProductForm::kArray;
  const auto is = [&](const char* knob, auto values, auto usual) {
    return is_one_of(published, knob, values, usual);
  };
  const std::string matmul = is("matmul_form", std::initializer_list<ProductForm>{kSpread, kPack}, kArray);
  const std::string matvec = is("matvec_form", std::initializer_list<ProductForm>{kSpread, kPack}, kArray);
  const std::string scores = is("scores_form", std::initializer_list<ProductForm>{kSpread, kPack}, kArray);
  const std::string weighted = is("weighted_form", std::initializer_list<ProductForm>{kSpread}, kArray);
  const std::string folded =
      is("score_scale", std::initializer_list<ScaleFold>{ScaleFold::kCopies}, ScaleFold::kScores);
  const std::string ones =
      is("row_sum", std::initializer_list<RowSum>{RowSum::kOnesColumn}, RowSum::kPerVector);
  const std::string unit = published.contains("residual_sum") ? "(= residual_sum 1)" : "false";
  const bool natural = f.matmul, transposed = f.transposed_matmul;
  const std::string interleave = fmt::format("(or {} {} {})", natural ? matmul : "false",
                                             f.matvec && !f.transposed_matvec ? matvec : "false", weighted);
  const std::string identity = fmt::format("(or {} {} (and {} (not {})))", transposed ? matmul : "false",
                                           f.transposed_matvec ? matvec : "false", scores, folded);
  const std::string needs =
      fmt::format("(+ 1 (ite {} 1 0) (ite {} 1 0) (ite (and {} {}) 1 0) (ite {} 1 0) (ite {} 1 0))",
                  interleave, identity, scores, folded, ones, unit);
  if (machine.mram_tiles >= 6) return;
  add_constraint(
      surface, "matrix_sram_constants", wire::ConstraintKind::Capacity,
      fmt::format("(<= {} {})", needs, machine.mram_tiles),
      "the matrix SRAM needs {needs} tiles for constants of the broadcast forms and one working tile, has "
      "{available}",
      needs, std::to_string(machine.mram_tiles));
}

// Rows of the vector SRAM that each combination of forms needs, as a nested term over the forms, and what
// other decisions add to it at most. Published only when some combination does not fit.
Status add_row_capacity(wire::SurfaceT& surface, const Problem& problem, const Machine& machine,
                        const std::vector<KnobSpec>& knobs) {
  struct Other {  // a value of another knob, and the rows that it adds at most
    const KnobSpec* spec;
    int64_t value;
    int64_t adds = 0;
  };
  std::vector<const KnobSpec*> forms;
  std::vector<Other> others;
  Choices plain;
  for (const KnobSpec& spec : knobs) {
    spec.set(plain, spec.values.front());
    const std::string_view name = spec.name;
    if (spec.values.size() < 2) continue;
    if (name.ends_with("_form") && name != "layer_norm_form" && name != "gelu_form") forms.push_back(&spec);
    for (const char* each : {"lanes", "head_group", "row_sum", "residual_sum", "rope_turn", "input_loads",
                             "norm_rounding", "input_residency", "working_tiles"}) {
      if (name != each) continue;
      for (size_t i = 1; i < spec.values.size(); ++i) others.push_back({&spec, spec.values[i], 0});
    }
  }
  plain.unroll_product = plain.unroll_vector = plain.unroll_load = plain.unroll_column = 1;
  Machine endless = machine;  // only the rows are asked for here
  endless.vram_rows = std::numeric_limits<int32_t>::max();
  endless.mram_tiles = std::max<uint32_t>(machine.mram_tiles, 8);
  const auto rows_of = [&](const Choices& choices) -> Result<int64_t> {
    ZB_ASSIGN(const Lowered lowered, lower_problem(problem, endless, choices));
    return lowered.vector_rows;
  };
  ZB_ASSIGN(const int64_t least, rows_of(plain));
  if (least > machine.vram_rows)
    return resource_exhausted(fmt::format("the vector SRAM needs {} rows for the plainest mapping, has {}",
                                          least, machine.vram_rows));
  // Nothing that a form adds comes near this.
  constexpr int64_t kFar = 64;
  if (least * kFar < machine.vram_rows) return {};
  int64_t most = 0;
  const std::function<Result<std::string>(size_t, Choices)> term =
      [&](size_t at, Choices choices) -> Result<std::string> {
    if (at == forms.size()) {
      ZB_ASSIGN(const int64_t rows, rows_of(choices));
      most = std::max(most, rows);
      for (Other& other : others) {
        Choices changed = choices;
        other.spec->set(changed, other.value);
        ZB_ASSIGN(const int64_t more, rows_of(changed));
        other.adds = std::max(other.adds, more - rows);
      }
      return std::to_string(rows);
    }
    std::string result;
    for (size_t i = forms[at]->values.size(); i-- > 0;) {
      Choices changed = choices;
      forms[at]->set(changed, forms[at]->values[i]);
      ZB_ASSIGN(std::string inner, term(at + 1, changed));
      result = result.empty() ? std::move(inner)
                              : fmt::format("(ite (= {} {}) {} {})", forms[at]->name, forms[at]->values[i],
                                            inner, result);
    }
    return result;
  };
  ZB_ASSIGN(std::string needs, term(0, plain));
  for (const Other& other : others) {
    if (other.adds == 0) continue;
    needs = fmt::format("(+ {} (ite (= {} {}) {} 0))", needs, other.spec->name, other.value, other.adds);
    most += other.adds;
  }
  if (most > machine.vram_rows)
    add_constraint(surface, "vector_sram_rows", wire::ConstraintKind::Capacity,
                   fmt::format("(<= {} {})", needs, machine.vram_rows),
                   "the vector SRAM needs up to {needs} rows for vectors and their copies in these forms, "
                   "has {available}",
                   needs, std::to_string(machine.vram_rows));
  return {};
}

}  // namespace

Result<wire::SurfaceT> make_surface(const Problem& problem, const Machine& machine,
                                    const SurfaceOptions& options) {
  if (machine.prefetch_tiles() != 1)
    return unimplemented(
        fmt::format("plena: M_PREFETCH={} brings {} tiles at a time; kernels are made for one",
                    machine.prefetch_m_rows, machine.prefetch_tiles()));
  const KnobTable table(problem, machine, options.broadcast_forms);
  wire::SurfaceT surface;
  surface.target = "plena";
  surface.workload = problem.workload;
  surface.kind = wire::SurfaceKind::Conditional;
  std::set<std::string> published;
  for (const KnobSpec& spec : table.knobs()) {
    if (spec.values.size() < 2) continue;
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = spec.name;
    knob->category = spec.category;
    knob->type = spec.labels.empty() ? KnobType::Integer : KnobType::Choice;
    knob->values = spec.values;
    knob->labels = spec.labels;
    knob->doc = spec.doc;
    published.insert(spec.name);
    surface.knobs.push_back(std::move(knob));
  }
  std::sort(surface.knobs.begin(), surface.knobs.end(), [](const auto& a, const auto& b) {
    return std::pair(a->category, a->name) < std::pair(b->category, b->name);
  });
  const auto has = [&](const char* name) { return published.contains(name); };
  if (has("row_sum") && has("weighted_form"))
    add_constraint(surface, "ones_column_needs_spread", wire::ConstraintKind::Dependency,
                   "(=> (= row_sum 2) (= weighted_form 1))",
                   "row_sum=ones_column takes the sums from a product in the spread form, and "
                   "weighted_form={weighted_form}");
  if (has("softmax_form") && has("row_sum"))
    add_constraint(surface, "online_sums_vectors", wire::ConstraintKind::Dependency,
                   "(=> (= softmax_form 1) (= row_sum 0))",
                   "softmax_form=online sums each vector as it comes, and row_sum={row_sum}");
  if (has("score_scale") && has("scores_form"))
    add_constraint(surface, "scale_needs_copies", wire::ConstraintKind::Dependency,
                   "(=> (= score_scale 2) (not (= scores_form 0)))",
                   "score_scale=copies scales with the constants that make copies of the queries, and "
                   "scores_form={scores_form} makes none");
  const Features features = features_of(problem, machine);
  if (has("column_block") && has("working_tiles"))
    add_constraint(
        surface, "column_block_fits", wire::ConstraintKind::Capacity,
        fmt::format("(or (= column_block 1) (<= (* column_block {}) working_tiles))", features.least_inner),
        "column_block={column_block} columns of at least {(" + fmt::format("+ 0 {}", features.least_inner) +
            ")} matrix tiles need {needs} working tiles, working_tiles={working_tiles}",
        fmt::format("(* column_block {})", features.least_inner), "working_tiles");
  // Parts of a sum are rounded to bf16, which the store quantiser of keys and values would magnify.
  if (features.computed_keys && has("working_tiles") && features.most_matmul_inner + 2 <= machine.mram_tiles)
    add_constraint(
        surface, "whole_sums_for_stored_keys", wire::ConstraintKind::Reduction,
        fmt::format("(or {} (>= working_tiles {}))", has("matmul_form") ? "(not (= matmul_form 0))" : "false",
                    features.most_matmul_inner),
        "working_tiles={working_tiles} splits sums over {needs} tiles into parts that are rounded to bf16, "
        "and keys "
        "and values are stored from such sums; {needs} working tiles keep them whole, or another matmul_form",
        std::to_string(features.most_matmul_inner), "working_tiles");
  add_tile_capacity(surface, features, machine, published);
  ZB_TRY(add_row_capacity(surface, problem, machine, table.knobs()));
  return surface;
}

Result<Choices> choices_of(const wire::PlanT& plan, const Problem& problem, const Machine& machine) {
  const KnobTable table(problem, machine, true);
  Choices choices;
  for (const KnobSpec& spec : table.knobs()) spec.set(choices, spec.values.front());
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      const auto spec = std::find_if(table.knobs().begin(), table.knobs().end(),
                                     [&](const KnobSpec& each) { return each.name == decision->knob; });
      if (spec == table.knobs().end())
        return invalid_argument(
            fmt::format("plena: the plan decides '{}', which is no knob of this workload", decision->knob));
      if (std::find(spec->values.begin(), spec->values.end(), decision->value) == spec->values.end())
        return invalid_argument(
            fmt::format("plena: the plan has {}={}, outside of its domain", decision->knob, decision->value));
      spec->set(choices, decision->value);
    }
  }
  return choices;
}

}  // namespace zomboss::plena
