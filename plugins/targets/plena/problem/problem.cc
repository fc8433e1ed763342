#include "plugins/targets/plena/problem/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/plena/problem/reader.h"

namespace zomboss::plena {

const wire::AttributeT* find_attribute(const wire::NodeT& node, std::string_view key) {
  for (const auto& attribute : node.attributes) {
    if (attribute->key == key) return attribute.get();
  }
  return nullptr;
}
std::vector<int64_t> ints_of(const wire::NodeT& node, std::string_view key) {
  const auto* attribute = find_attribute(node, key);
  return attribute == nullptr ? std::vector<int64_t>() : attribute->ints;
}
double number_of(const wire::NodeT& node, std::string_view key, double fallback) {
  const auto* attribute = find_attribute(node, key);
  return attribute == nullptr || attribute->floats.empty() ? fallback : attribute->floats[0];
}
std::string_view text_of(const wire::NodeT& node, std::string_view key) {
  const auto* attribute = find_attribute(node, key);
  return attribute == nullptr ? std::string_view() : std::string_view(attribute->text);
}

std::vector<size_t> Problem::last_use() const {
  std::vector<size_t> last(values.size(), 0);
  for (size_t s = 0; s < stages.size(); ++s) {
    for (const ValueId id :
         {stages[s].a, stages[s].b, stages[s].c, stages[s].d, stages[s].low, stages[s].residual,
          stages[s].absorbed_key, stages[s].absorbed_value, stages[s].out}) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = s;
    }
  }
  for (const View& output : outputs) last[static_cast<size_t>(output.value)] = stages.size();
  return last;
}

void Reader::refuse(const Node& node, std::string why) {
  refusals_ += fmt::format("{}{}:{}:{}: plena cannot lower {} '{}': {}", refusals_.empty() ? "" : "\n",
                           workload_.source, node.line, node.column, node.op, node.name, why);
}

ValueId Reader::new_value(const Node& node, int64_t rows, int64_t cols) {
  Value value;
  value.name = node.name;
  value.rows = rows;
  value.cols = cols;
  problem_.values.push_back(std::move(value));
  return static_cast<ValueId>(problem_.values.size() - 1);
}

Stage& Reader::new_stage(StageKind kind, const Node& node) {
  Stage stage;
  stage.kind = kind;
  stage.name = node.name;
  problem_.stages.push_back(std::move(stage));
  return problem_.stages.back();
}

void Reader::read_node(const Node& node) {
  const std::string& op = node.op;
  if (op != "parameter" && op != "constant" && !node.operands.empty() && operand(node, 0).value == kNoValue &&
      !operand(node, 0).is_uniform)
    return;  // refused further up
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (operand(node, i).value == kNoValue && !operand(node, i).is_uniform) return;
  }
  if (op == "parameter") return parameter(node);
  if (op == "constant") return constant(node);
  if (op == "broadcast") return broadcast(node);
  if (op == "transpose") return transpose(node);
  if (op == "reshape") return reshape(node);
  if (op == "convert") {
    View view = operand(node, 0);
    const wire::DType from = workload_.nodes[node.operands[0]]->type->dtype;
    view.rounded = view.rounded || (node.type->dtype == wire::DType::BF16 && from != wire::DType::BF16);
    return set(node, std::move(view));
  }
  if (op == "matmul") return matmul(node);
  if (op == "attention") return attention(node);
  if (op == "softmax") return rowwise(node, StageKind::kSoftmax);
  if (op == "layer_norm") return rowwise(node, StageKind::kLayerNorm);
  if (op == "rms_norm") return rowwise(node, StageKind::kRmsNorm);
  if (op == "rope") return rope(node);
  if (op == "reduce") return reduce(node);
  if (op == "relu") return map(node, MapKind::kRelu);
  if (op == "silu") return map(node, MapKind::kSilu);
  if (op == "gelu") {
    const std::string_view form = text_of(node, "form");
    return map(node, form == "erf"    ? MapKind::kGeluErf
                     : form == "tanh" ? MapKind::kGeluTanh
                                      : MapKind::kGeluSigmoid);
  }
  if (op == "logistic") return map(node, MapKind::kLogistic);
  if (op == "exponential") return map(node, MapKind::kExp);
  if (op == "negate") return map(node, MapKind::kNegate);
  if (op == "tanh") return map(node, MapKind::kTanh);
  if (op == "add") return elementwise(node, BinaryKind::kAdd, operand(node, 0), operand(node, 1));
  if (op == "subtract") return elementwise(node, BinaryKind::kSubtract, operand(node, 0), operand(node, 1));
  if (op == "multiply") return elementwise(node, BinaryKind::kMultiply, operand(node, 0), operand(node, 1));
  if (op == "divide") return elementwise(node, BinaryKind::kDivide, operand(node, 0), operand(node, 1));
  if (op == "maximum") return elementwise(node, BinaryKind::kMaximum, operand(node, 0), operand(node, 1));
  if (op == "minimum") return elementwise(node, BinaryKind::kMinimum, operand(node, 0), operand(node, 1));
  if (op == "bias") {
    View other = operand(node, 1);
    if (!other.is_uniform) {
      const std::vector<int64_t> dims = ints_of(node, "dims");
      bool whole = dims.size() == node.type->dims.size();
      for (size_t i = 0; i < dims.size(); ++i) whole = whole && dims[i] == static_cast<int64_t>(i);
      if (!whole) {
        other.along.assign(node.type->dims.size(), -1);
        for (size_t i = 0; i < dims.size(); ++i)
          other.along[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
        other.shape = node.type->dims;
      }
    }
    return elementwise(node, BinaryKind::kAdd, operand(node, 0), other);
  }
  refuse(node, "the machine has no such operation");
}

Status Reader::read_contract() {
  for (const uint32_t id : workload_.inputs) {
    const Node& node = *workload_.nodes[id];
    problem_.input_names.push_back(node.name);
    problem_.input_types.push_back(*node.type);
  }
  if (!workload_.contract) return {};
  for (const auto& storage : workload_.contract->storage) {
    if (storage->text.empty() || storage->text == "mxfp8") continue;
    return invalid_argument(
        fmt::format("{}: the contract stores '{}' as {}, and PLENA's HBM holds mxfp8 only; store it as mxfp8",
                    workload_.source, storage->key, storage->text));
  }
  for (const auto& option : workload_.contract->options) {
    if (option->key == "kv_storage") problem_.store_rounds_kv = option->text == "mxfp8";
  }
  problem_.absolute_tolerance = workload_.contract->absolute;
  return {};
}

Status Reader::read_outputs() {
  for (const uint32_t id : workload_.outputs) {
    const Node& node = *workload_.nodes[id];
    View view = views_[id];
    if (view.is_uniform || !view.along.empty())
      return unimplemented(
          fmt::format("{}:{}:{}: the output '{}' is a constant or a broadcast: nothing to compute",
                      workload_.source, node.line, node.column, node.name));
    if (value(view.value).origin != Origin::kStage) {  // an input as output: a copy
      Stage& stage = new_stage(StageKind::kScalar, node);
      stage.a = view.value;
      stage.binary = BinaryKind::kMultiply;
      stage.number = 1;
      value(view.value).as_rows = true;
      const ValueId copy = new_value(node, view.rows(), view.cols());
      problem_.stages.back().out = copy;
      view.value = copy;
    }
    problem_.outputs.push_back(view);
    problem_.output_types.push_back(*node.type);
  }
  return {};
}

// Keys and values that a contract wants unrounded cannot go through the HBM. When they are projections of an
// input, attention works with the input itself and takes the projections' matrices to the query and the
// result.
Status Reader::absorb_projections() {
  std::vector<Stage>& stages = problem_.stages;
  const auto projection = [&](ValueId id) -> const Stage* {
    for (const Stage& stage : stages) {
      if (stage.out == id)
        return stage.kind == StageKind::kMatmul && !stage.transposed && stage.batch == 1 ? &stage : nullptr;
    }
    return nullptr;
  };
  std::vector<ValueId> gone;
  for (Stage& stage : stages) {
    if (stage.kind != StageKind::kAttention) continue;
    if (value(stage.b).origin != Origin::kStage && value(stage.c).origin != Origin::kStage) continue;
    const Stage* key = projection(stage.b);
    const Stage* from = projection(stage.c);
    int uses = 0;
    for (const Stage& each : stages) {
      for (const ValueId id : {each.a, each.b, each.c, each.d})
        uses += id == stage.b || id == stage.c ? 1 : 0;
    }
    for (const View& output : problem_.outputs)
      uses += output.value == stage.b || output.value == stage.c ? 1 : 0;
    if (key == nullptr || from == nullptr || key->a != from->a || value(key->a).origin == Origin::kStage ||
        stage.heads_in_rows || uses != 2)
      return unimplemented(
          fmt::format("{}: the contract has kv_storage=\"exact\", and the keys and values of '{}' reach the "
                      "matrix SRAM through the HBM "
                      "only, where they are mxfp8; they can be absorbed into the query and the result when "
                      "they are projections of one "
                      "input and nothing else reads them. Use kv_storage = \"mxfp8\"",
                      workload_.source, stage.name));
    gone.push_back(stage.b);
    gone.push_back(stage.c);
    stage.absorbed_key = key->b;
    stage.absorbed_value = from->b;
    stage.b = stage.c = key->a;
    value(stage.b).as_matrix = true;
  }
  std::erase_if(stages, [&](const Stage& stage) {
    return std::find(gone.begin(), gone.end(), stage.out) != gone.end();
  });
  return {};
}

// Operators on single values move down to the first stage that reads them, so that chains stand together.
void Reader::sink_maps() {
  std::vector<Stage>& stages = problem_.stages;
  const auto reads = [](const Stage& stage, ValueId id) {
    return stage.a == id || stage.b == id || stage.c == id || stage.d == id;
  };
  for (size_t s = stages.size(); s-- > 0;) {
    if (stages[s].kind != StageKind::kMap && stages[s].kind != StageKind::kScalar) continue;
    for (size_t at = s; at + 1 < stages.size() && !reads(stages[at + 1], stages[at].out); ++at)
      std::swap(stages[at], stages[at + 1]);
  }
}

void Reader::find_residuals() {
  std::vector<int> uses(problem_.values.size(), 0);
  for (const Stage& stage : problem_.stages) {
    for (const ValueId id : {stage.a, stage.b, stage.c, stage.d}) {
      if (id != kNoValue) ++uses[static_cast<size_t>(id)];
    }
  }
  for (const View& output : problem_.outputs) ++uses[static_cast<size_t>(output.value)];
  std::vector<size_t> made(problem_.values.size(), 0);  // one more than the stage that makes the value
  for (size_t s = 0; s < problem_.stages.size(); ++s) {
    Stage& sum = problem_.stages[s];
    made[static_cast<size_t>(sum.out)] = s + 1;
    if (sum.kind != StageKind::kBinary || sum.binary != BinaryKind::kAdd ||
        value(sum.a).rows != value(sum.b).rows || sum.a == sum.b)
      continue;
    for (const auto& [product, other] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}}) {
      const size_t at = made[static_cast<size_t>(product)];
      if (at == 0 || uses[static_cast<size_t>(product)] != 1 || made[static_cast<size_t>(other)] >= at)
        continue;
      Stage& stage = problem_.stages[at - 1];
      if (stage.kind != StageKind::kMatmul || stage.batch != 1) continue;
      stage.residual = other;
      stage.sum = sum.out;
      sum.added_by = static_cast<int32_t>(at - 1);
      break;
    }
  }
}

// The store quantiser turns a difference of one bf16 step in a key or value into one of an eighth where a
// code boundary lies between. A norm before the projection rounds its rows and, worse, its factor, which
// shifts all of a row. So in workloads that store what comes of a norm, norms are computed precisely, and the
// products that read them get what was rounded away of their rows as well; but queries, whose errors stay
// small.
void Reader::refine_stored_norms() {
  const auto producer = [&](ValueId id) -> Stage* {
    for (Stage& stage : problem_.stages) {
      if (stage.out == id) return &stage;
    }
    return nullptr;
  };
  const auto norm_before = [&](const Stage& product) -> Stage* {
    Stage* norm = product.kind == StageKind::kMatmul ? producer(product.a) : nullptr;
    return norm != nullptr && norm->kind == StageKind::kRmsNorm ? norm : nullptr;
  };
  const auto projection = [&](ValueId id) -> Stage* {  // seen through a rotation
    Stage* stage = producer(id);
    if (stage != nullptr && stage->kind == StageKind::kRope) stage = producer(stage->a);
    return stage;
  };
  bool stored = false;
  std::vector<const Stage*> queries;
  for (const Stage& stage : problem_.stages) {
    if (stage.kind != StageKind::kAttention) continue;
    queries.push_back(projection(stage.a));
    for (const ValueId id : {stage.b, stage.c}) {
      const Stage* product = projection(id);
      stored = stored || (product != nullptr && norm_before(*product) != nullptr);
    }
  }
  if (!stored) return;
  for (Stage& stage : problem_.stages) {
    stage.precise =
        stage.kind == StageKind::kRmsNorm || (stage.kind == StageKind::kMap && stage.map == MapKind::kSilu);
    Stage* norm = norm_before(stage);
    if (norm == nullptr || stage.takes_rounded ||
        std::find(queries.begin(), queries.end(), &stage) != queries.end())
      continue;
    if (norm->low == kNoValue) {
      Value low;
      low.name = value(norm->out).name + ".low";
      low.rows = value(norm->out).rows;
      low.cols = value(norm->out).cols;
      problem_.values.push_back(std::move(low));
      norm->low = static_cast<ValueId>(problem_.values.size() - 1);
    }
    stage.low = norm->low;
  }
}

Result<Problem> Reader::read() {
  problem_.workload = workload_.name;
  views_.resize(workload_.nodes.size());
  ZB_TRY(read_contract());
  for (const auto& node : workload_.nodes) {
    for (const int64_t dim : node->type->dims) {
      if (dim <= 0)
        return unimplemented(fmt::format("{}:{}:{}: '{}' has a dim of {}: plena takes no empty tensors",
                                         workload_.source, node->line, node->column, node->name, dim));
    }
    read_node(*node);
  }
  if (!refusals_.empty()) return unimplemented(refusals_);
  ZB_TRY(read_outputs());
  if (!problem_.store_rounds_kv) ZB_TRY(absorb_projections());
  sink_maps();
  find_residuals();
  if (problem_.store_rounds_kv) refine_stored_norms();
  return std::move(problem_);
}

Result<Problem> read_problem(const wire::WorkloadT& workload, const Machine& machine) {
  return Reader(workload, machine).read();
}

}  // namespace zomboss::plena
