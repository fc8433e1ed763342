#include "core/taidl/wire.h"

#include <memory>

namespace zomboss::taidl {
namespace {

std::unique_ptr<wire::DomainT> domain_to_wire(const Domain& domain) {
  auto out = std::make_unique<wire::DomainT>();
  out->low = domain.low;
  out->high = domain.high;
  out->step = domain.step;
  out->values = domain.values;
  return out;
}

std::unique_ptr<wire::MemoryT> memory_to_wire(const Memory& memory) {
  auto out = std::make_unique<wire::MemoryT>();
  out->name = memory.name;
  out->dtype = memory.format.block == 0 ? memory.format.dtype : wire::DType::Invalid;
  out->rows = memory.rows;
  out->unit_dims = memory.unit_dims;
  out->unit_bytes = memory.unit_bytes;
  out->banks = memory.banks;
  out->align = memory.align;
  out->offchip = memory.offchip;
  return out;
}

std::unique_ptr<wire::StateT> state_to_wire(const State& state) {
  auto out = std::make_unique<wire::StateT>();
  out->name = state.name;
  out->kind = state.role == StateRole::kConfig   ? wire::StateKind::Config
              : state.role == StateRole::kHidden ? wire::StateKind::Hidden
                                                 : wire::StateKind::Plain;
  if (state.shape) {
    out->type = std::make_unique<wire::TensorTypeT>();
    out->type->dtype = state.shape->dtype;
    out->type->dims = state.shape->dims;
  } else {
    out->domain = domain_to_wire(state.domain);
  }
  out->initial = state.initial;
  return out;
}

std::unique_ptr<wire::OperandT> operand_to_wire(const Operand& operand) {
  auto out = std::make_unique<wire::OperandT>();
  out->name = operand.name;
  out->kind = operand.kind == OperandKind::kAddress    ? wire::OperandKind::Address
              : operand.kind == OperandKind::kInteger  ? wire::OperandKind::Integer
              : operand.kind == OperandKind::kRegister ? wire::OperandKind::Register
                                                       : wire::OperandKind::Immediate;
  out->memory = operand.base;
  out->align = operand.align;
  out->bits = static_cast<uint32_t>(operand.bits);
  out->domain = domain_to_wire(operand.domain);
  return out;
}

std::unique_ptr<wire::InstructionT> instr_to_wire(const Instr& instr) {
  auto out = std::make_unique<wire::InstructionT>();
  out->name = instr.name;
  out->engine = instr.engine;
  for (const Operand& operand : instr.operands) out->operands.push_back(operand_to_wire(operand));
  return out;
}

}  // namespace

wire::ModelT to_wire(const Model& model) {
  wire::ModelT out;
  out.target = model.target;
  out.title = model.title;
  out.spec_hash = model.hash;
  out.storage = model.storage;
  for (const Param& param : model.params) {
    out.params.push_back(std::make_unique<wire::ParamT>());
    out.params.back()->name = param.name;
    out.params.back()->value = param.value;
  }
  out.engines = model.engines;
  for (const Memory& memory : model.memories) out.memories.push_back(memory_to_wire(memory));
  for (const State& state : model.states) out.states.push_back(state_to_wire(state));
  for (const Regfile& file : model.regfiles) {
    out.register_files.push_back(std::make_unique<wire::RegisterFileT>());
    out.register_files.back()->name = file.name;
    out.register_files.back()->dtype = file.format.block == 0 ? file.format.dtype : wire::DType::Invalid;
    out.register_files.back()->count = file.count;
    out.register_files.back()->zero = file.zero;
  }
  for (const Instr& instr : model.instrs) out.instructions.push_back(instr_to_wire(instr));
  for (const Rule& rule : model.rules) {
    out.rules.push_back(std::make_unique<wire::RuleT>());
    out.rules.back()->name = rule.name;
    out.rules.back()->text = print_expr(rule.condition);
    out.rules.back()->message = rule.message;
  }
  return out;
}

std::string encode_model(const Model& model) {
  const wire::ModelT message = to_wire(model);
  flatbuffers::FlatBufferBuilder builder;
  wire::FinishModelBuffer(builder, wire::CreateModel(builder, &message));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace zomboss::taidl
