#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zomboss::graph {
namespace {

std::string attribute_text(const Attribute& attribute) {
  if (!attribute.floats.empty()) return fmt::format("{}={}", attribute.key, fmt::join(attribute.floats, ","));
  if (!attribute.text.empty()) return fmt::format("{}={}", attribute.key, attribute.text);
  return fmt::format("{}={{{}}}", attribute.key, fmt::join(attribute.ints, ","));
}

auto lower_bound(auto& attributes, std::string_view key) {
  return std::lower_bound(attributes.begin(), attributes.end(), key,
                          [](const Attribute& a, std::string_view k) { return a.key.compare(k) < 0; });
}

}  // namespace

const Attribute* Node::find(std::string_view key) const {
  const auto at = lower_bound(attributes, key);
  return at != attributes.end() && at->key == key ? &*at : nullptr;
}

const std::vector<int64_t>& Node::ints(std::string_view key) const {
  static const std::vector<int64_t> kNone;
  const Attribute* attribute = find(key);
  return attribute != nullptr ? attribute->ints : kNone;
}

double Node::number(std::string_view key, double fallback) const {
  const Attribute* attribute = find(key);
  return attribute != nullptr && !attribute->floats.empty() ? attribute->floats[0] : fallback;
}

std::string_view Node::text(std::string_view key) const {
  const Attribute* attribute = find(key);
  return attribute != nullptr ? std::string_view(attribute->text) : std::string_view();
}

void Node::set(Attribute attribute) {
  const auto at = lower_bound(attributes, attribute.key);
  if (at != attributes.end() && at->key == attribute.key) {
    *at = std::move(attribute);
  } else {
    attributes.insert(at, std::move(attribute));
  }
}

std::string Graph::text() const {
  std::string out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    out += fmt::format("{} = {} {} ({})", i, node.op, node.shape.text(), fmt::join(node.operands, ", "));
    for (const Attribute& attribute : node.attributes) out += " " + attribute_text(attribute);
    out += fmt::format("  # {} at {}:{}\n", node.name, node.where.line, node.where.column);
  }
  return out + fmt::format("outputs {}\n", fmt::join(outputs, ", "));
}

}  // namespace zomboss::graph
