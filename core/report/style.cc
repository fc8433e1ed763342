// The style sheet and the script of the page.
#include "core/report/sections.h"

namespace zomboss::report {
namespace {

// Colours of lines and bars differ in lightness as well as in hue, so that they stay apart for colour-blind
// readers and in grey print; the later ones are dashed, too.
constexpr std::string_view kStyle = R"css(
:root{--paper:#f6f6f3;--card:#fff;--ink:#1c1f24;--muted:#646a73;--rule:#deded9;--grid:#ebebe6;--lane:#f1f1ed;
--accent:#0b66ad;--bad:#b3261e;--soft:#eef4fa;
--c0:#0b66ad;--c1:#d35f0c;--c2:#0c8a67;--c3:#b0468f;--c4:#8b6c00;--c5:#3d9bd1;--c6:#565f6d;--c7:#6f42a8;
--o-valid:#0b66ad;--o-wrong:#d35f0c;--o-illegal:#7d8590;--o-duplicate:#bcc2ca;--o-invalid:#5b626d;
--o-lowering:#a68100;--o-simulation:#e0b23c;--o-timeout:#c774ae;--o-crash:#7a2f6b;--o-other:#3f454d;
--on-strong:#fff;--on-soft:#1c1f24;--on-grey:#fff}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){--paper:#121418;--card:#1a1d22;--ink:#e7e9ec;
--muted:#9aa2ad;--rule:#31363e;--grid:#282c33;--lane:#22262c;--accent:#6cb6f5;--bad:#ff8a80;--soft:#1c2733;
--c0:#5aaef0;--c1:#ff9350;--c2:#3ecb9c;--c3:#ee8bc9;--c4:#dfbd4c;--c5:#9ad8ff;--c6:#aeb7c3;--c7:#bf9af2;
--o-valid:#5aaef0;--o-wrong:#ff9350;--o-illegal:#7a828e;--o-duplicate:#454b54;--o-invalid:#b3bac4;
--o-lowering:#b8952a;--o-simulation:#efd27a;--o-timeout:#ee8bc9;--o-crash:#b95fa6;--o-other:#d5d9df;
--on-strong:#0f1216;--on-soft:#e7e9ec;--on-grey:#fff}}
:root[data-theme=dark]{--paper:#121418;--card:#1a1d22;--ink:#e7e9ec;
--muted:#9aa2ad;--rule:#31363e;--grid:#282c33;--lane:#22262c;--accent:#6cb6f5;--bad:#ff8a80;--soft:#1c2733;
--c0:#5aaef0;--c1:#ff9350;--c2:#3ecb9c;--c3:#ee8bc9;--c4:#dfbd4c;--c5:#9ad8ff;--c6:#aeb7c3;--c7:#bf9af2;
--o-valid:#5aaef0;--o-wrong:#ff9350;--o-illegal:#7a828e;--o-duplicate:#454b54;--o-invalid:#b3bac4;
--o-lowering:#b8952a;--o-simulation:#efd27a;--o-timeout:#ee8bc9;--o-crash:#b95fa6;--o-other:#d5d9df;
--on-strong:#0f1216;--on-soft:#e7e9ec;--on-grey:#fff;color-scheme:dark}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0 auto;padding:40px 32px 80px;max-width:1128px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
header{display:flex;justify-content:space-between;align-items:flex-start;gap:24px}
.kicker{margin:0;color:var(--muted);font-size:13px;letter-spacing:.04em}
h1{margin:2px 0 4px;font-size:30px;line-height:1.2;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
.sub{margin:0;color:var(--muted)}
h2{margin:0 0 18px;font-size:19px;font-weight:650;letter-spacing:-.005em}
h3{margin:26px 0 10px;font-size:14px;font-weight:650}
h4{margin:0;font-size:13.5px;font-weight:650;overflow-wrap:anywhere}
h4 small{float:right;font-weight:400;color:var(--muted);font-size:12px}
button{font:inherit;font-size:13px;color:var(--ink);background:var(--card);border:1px solid var(--rule);
border-radius:7px;padding:5px 12px;cursor:pointer}
button:hover{border-color:var(--muted)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
nav{position:sticky;top:0;z-index:2;display:flex;gap:4px 18px;flex-wrap:wrap;margin:22px 0;padding:10px 0;
background:var(--paper);border-bottom:1px solid var(--rule);font-size:13.5px}
nav a{color:var(--muted);text-decoration:none}
nav a:hover{color:var(--accent)}
section{margin:0 0 22px;padding:24px 28px 26px;background:var(--card);border:1px solid var(--rule);border-radius:12px;
scroll-margin-top:60px;overflow-wrap:break-word}
.note{margin:10px 0 0;color:var(--muted);font-size:13.5px;max-width:90ch}
.nothing,.failed{margin:0;padding:14px 16px;border-radius:8px;background:var(--lane);color:var(--muted)}
.failed{color:var(--bad);background:none;border:1px solid var(--bad)}
.cards{display:grid;grid-template-columns:repeat(3,1fr);gap:1px;background:var(--rule);border:1px solid var(--rule);
border-radius:10px;overflow:hidden}
.card{padding:16px 18px 18px;background:var(--card)}
.card .label{font-size:13px;color:var(--muted)}
.card .value{margin:3px 0 3px;font-size:29px;line-height:1.2;font-weight:620;font-variant-numeric:tabular-nums;
letter-spacing:-.015em}
.card .value small{font-size:15px;font-weight:400;color:var(--muted);letter-spacing:0}
.card .words{font-size:20px;letter-spacing:-.005em}
.card.main .value{color:var(--accent)}
.card .below{font-size:13px;color:var(--muted)}
.figure{margin:6px 0 0;overflow-x:auto;position:relative}
.figure svg{display:block;width:100%;min-width:640px;height:auto}
svg{font-size:12.5px;overflow:visible}
svg text{fill:var(--ink);font-variant-numeric:tabular-nums}
svg .tick{fill:var(--muted);font-size:12px}
svg .small{font-size:11px}
svg .title{fill:var(--muted);font-size:12.5px}
svg .halo{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
svg .name,svg .value{font-size:13px}
svg .end{font-weight:600;font-size:13px}
svg path{fill:none}
svg .grid{stroke:var(--grid)}
svg .axis{stroke:var(--muted)}
svg .level{stroke:var(--muted);stroke-dasharray:5 4;stroke-width:1.2}
svg .leader{stroke-width:1;opacity:.7}
svg .line{stroke-width:2.2;stroke-linejoin:round}
svg .line.thin{stroke-width:1.7}
svg .band{stroke:none;opacity:.15}
svg .lane{fill:var(--lane)}
svg .range{stroke:var(--muted);stroke-width:1.4}
svg .median{fill:var(--card);stroke:var(--accent);stroke-width:2}
svg .median.lowest{fill:var(--accent)}
svg .point{fill:var(--o-valid);opacity:.5}
svg .point.best{fill:var(--card);stroke:var(--o-valid);stroke-width:2;opacity:1}
svg .strokes{stroke-width:1.6}
svg .quiet{fill:var(--muted);stroke:none}
svg path.quiet{fill:none;stroke:var(--muted)}
svg .inside{font-size:12px;font-weight:600;fill:var(--on-strong)}
svg .cross{stroke:var(--muted);stroke-width:1}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}
.c4{--c:var(--c4)}.c5{--c:var(--c5)}.c6{--c:var(--c6)}.c7{--c:var(--c7)}
svg path.line.c4,svg path.line.c5,svg path.line.c6,svg path.line.c7{stroke-dasharray:7 3}
.o-valid{--c:var(--o-valid)}.o-wrong{--c:var(--o-wrong)}.o-illegal{--c:var(--o-illegal)}
.o-duplicate{--c:var(--o-duplicate)}.o-invalid{--c:var(--o-invalid)}.o-lowering{--c:var(--o-lowering)}
.o-simulation{--c:var(--o-simulation)}.o-timeout{--c:var(--o-timeout)}.o-crash{--c:var(--o-crash)}
.o-other{--c:var(--o-other)}
svg path.line,svg path.leader,svg path.strokes{stroke:var(--c)}
svg path.band,svg circle.dot,svg rect[class^=c],svg rect[class^=o-]{fill:var(--c)}
svg text.end[class*=" c"]{fill:var(--c)}
svg text.inside.o-duplicate{fill:var(--on-soft)}
svg text.inside.o-simulation{fill:#1c1f24}
svg text.inside.o-illegal,svg text.inside.o-crash{fill:var(--on-grey)}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;margin:0 0 6px;padding:0;list-style:none;font-size:13.5px}
.legend i,.key{display:inline-block;width:11px;height:11px;margin-right:7px;border-radius:3px;background:var(--c)}
.legend i.ring{background:none;border:2px solid var(--o-valid);border-radius:50%}
.legend i.dot{border-radius:50%;background:var(--o-valid)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th{font-weight:600;color:var(--muted);text-align:left;vertical-align:bottom;font-size:12.5px}
th,td{padding:7px 14px 7px 0;border-bottom:1px solid var(--rule);vertical-align:top}
@media (max-width:860px){.scroll table{min-width:560px}}
td code,td pre{overflow-wrap:anywhere}
th:first-child,td:first-child{min-width:110px}
td.n{white-space:nowrap}
th.short{white-space:nowrap}
th.n,td.n{text-align:right;padding:7px 0 7px 18px}
tbody tr:last-child td{border-bottom:none}
td .muted,.muted{color:var(--muted);font-weight:400;font-size:12.5px}
details.twin{margin:14px 0 0;font-size:13.5px}
summary{cursor:pointer;color:var(--accent)}
details.twin>summary{width:max-content;max-width:100%}
details.twin[open]>summary{margin-bottom:8px}
details.group{border-top:1px solid var(--rule);padding:8px 0}
details.group:last-child{padding-bottom:0}
.twin+details.group{margin-top:20px}
details.group>summary{display:flex;justify-content:space-between;gap:20px;color:var(--ink)}
details.group>summary::before{content:"▸";color:var(--muted);margin-right:-10px}
details.group[open]>summary::before{content:"▾"}
details.group>summary b{flex:1;font-weight:600}
details.group>summary span{color:var(--muted);font-size:13.5px}
details.group[open]>summary{margin-bottom:14px}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(310px,1fr));gap:26px 32px;align-items:start}
.panel{border-top:1px solid var(--rule);padding-top:10px}
.panel .share{display:flex;justify-content:space-between;font-size:12px;color:var(--muted)}
.panel svg{display:block;width:100%;max-width:360px;height:auto}
.minis{display:grid;grid-template-columns:repeat(auto-fill,minmax(210px,1fr));gap:18px 26px;margin-top:12px}
.minis svg{display:block;width:100%;max-width:290px;height:auto}
.groups{margin-top:10px}
.two{display:grid;grid-template-columns:minmax(0,1.15fr) minmax(0,1fr);gap:8px 44px}
.nest{display:table;min-width:100%;padding:10px 0;border-radius:8px;background:var(--lane);font-size:13px}
.loop{display:table-row}
.loop code,.loop span{display:table-cell;padding:2.5px 16px;white-space:nowrap}
.loop code{position:relative;padding-left:calc(16px + 20px*var(--depth));
background:repeating-linear-gradient(90deg,var(--rule) 0 1px,transparent 1px 20px) 16px 0/calc(20px*var(--depth)) 100% no-repeat}
.loop em{font-style:normal;color:var(--accent)}
.loop span{color:var(--muted);text-align:right}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12.5px}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
.memory{margin:0 0 16px}
.memory .names{display:flex;gap:12px;font-size:13.5px}
.memory .names b{font-weight:600;flex:1}
.memory .share{min-width:62px;text-align:right;font-weight:600;font-variant-numeric:tabular-nums}
.track{height:12px;margin:5px 0 4px;border-radius:4px;background:var(--lane);overflow:hidden;
box-shadow:inset 0 0 0 1px var(--rule)}
.fill{height:100%;background:var(--c0)}
.fill.over{background:var(--bad)}
.rule{color:var(--muted);font-size:12.5px}
.decisions{columns:3 280px;column-gap:36px}
.decisions dl{margin:0 0 18px;break-inside:avoid}
.decisions .section{font-size:12.5px;color:var(--muted);padding-bottom:4px;border-bottom:1px solid var(--rule)}
.decisions dl div{display:flex;justify-content:space-between;gap:12px;padding:3.5px 6px;font-size:13.5px;border-radius:5px}
.decisions dd{margin:0;text-align:right}
.decisions b{font-weight:600}
.decisions s{color:var(--muted);margin-left:6px}
.decisions .changed{background:var(--soft)}
.badge{font-style:normal;font-size:11.5px;padding:1px 7px;border-radius:9px;border:1px solid var(--rule);color:var(--muted)}
.e-bad{color:var(--bad);border-color:var(--bad)}
time{white-space:nowrap}
.code{position:relative;padding:12px 76px 12px 16px;border-radius:8px;background:var(--lane);margin:0 0 12px}
.copy{position:absolute;top:7px;right:8px;padding:2px 9px;font-size:12px}
.pairs{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:2px 36px;margin:0}
.pairs div{display:flex;gap:14px;justify-content:space-between;padding:4px 0;border-bottom:1px solid var(--grid);font-size:13.5px}
.pairs dt{color:var(--muted)}
.pairs dd{margin:0;text-align:right}
.tip{position:absolute;z-index:1;pointer-events:none;padding:8px 12px;border-radius:8px;background:var(--card);
border:1px solid var(--rule);box-shadow:0 4px 14px #0002;font-size:12.5px;font-variant-numeric:tabular-nums;white-space:nowrap}
.tip div{display:flex;gap:18px;justify-content:space-between}
.tip div span:first-child::before{content:"";display:inline-block;width:9px;height:9px;border-radius:2px;
background:var(--c);margin-right:7px}
@media (max-width:860px){body{padding:24px 14px}section{padding:18px 16px}.cards{grid-template-columns:repeat(2,1fr)}
.two{grid-template-columns:minmax(0,1fr)}nav{position:static}}
@media (max-width:520px){.cards{grid-template-columns:1fr}}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{body{max-width:none;padding:0;font-size:11pt;background:none}nav,button{display:none}
section{border:none;padding:0 0 16pt;margin:0}h2{break-after:avoid}.figure,.panel,.card,tr,.memory{break-inside:avoid}
details.twin{display:none}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

constexpr std::string_view kScript = R"js(
(function () {
  "use strict";
  var root = document.documentElement;
  // Light and dark: as the system says until somebody chooses.
  var button = document.getElementById("theme");
  var system = matchMedia("(prefers-color-scheme: dark)");
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; }
  function show() { button.textContent = isDark() ? "Light" : "Dark"; }
  try { var kept = localStorage.getItem("zomboss-theme"); if (kept) root.dataset.theme = kept; } catch (e) {}
  button.hidden = false;
  show();
  system.addEventListener("change", show);
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("zomboss-theme", root.dataset.theme); } catch (e) {}
    show();
  });
  // Paper is light, and has no folds.
  var theme, closed = [];
  addEventListener("beforeprint", function () {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    closed = Array.from(document.querySelectorAll("details.group:not([open])"));
    closed.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    closed.forEach(function (d) { d.open = false; });
  });
  document.querySelectorAll(".copy").forEach(function (copy) {
    if (!navigator.clipboard) return;
    copy.hidden = false;
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(copy.previousElementSibling.textContent).then(function () {
        copy.textContent = "Copied";
        setTimeout(function () { copy.textContent = "Copy"; }, 1500);
      });
    });
  });
  // The values of all lines under the pointer.
  function number(value) { return value.toLocaleString("en-US", {maximumFractionDigits: 1}); }
  document.querySelectorAll("svg[data-hover]").forEach(function (svg) {
    var data = JSON.parse(svg.dataset.hover);
    var figure = svg.parentElement;
    var cross = document.createElementNS(svg.namespaceURI, "path");
    cross.setAttribute("class", "cross");
    svg.appendChild(cross);
    var tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.appendChild(tip);
    function hide() { tip.hidden = true; cross.setAttribute("d", ""); }
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect();
      var scale = box.width / svg.viewBox.baseVal.width;
      var px = (event.clientX - box.left) / scale;
      if (px < data.left || px > data.right) return hide();
      var at = Math.round(data.low + (px - data.left) / (data.right - data.left) * (data.high - data.low));
      var x = data.left + (at - data.low) / (data.high - data.low) * (data.right - data.left);
      cross.setAttribute("d", "M" + x + "," + data.top + "V" + data.bottom);
      tip.textContent = "";
      var head = document.createElement("b");
      head.textContent = "Evaluation " + number(at);
      tip.appendChild(head);
      data.series.map(function (s) {
        var value = s.points[0][1];
        s.points.forEach(function (p) { if (p[0] <= at) value = p[1]; });
        return {name: s.name, color: s["class"], value: value};
      }).sort(function (a, b) { return a.value - b.value; }).forEach(function (s) {
        var row = document.createElement("div");
        row.className = s.color;
        var name = document.createElement("span"), value = document.createElement("span");
        name.textContent = s.name;
        value.textContent = number(s.value) + " " + data.unit;
        row.append(name, value);
        tip.appendChild(row);
      });
      tip.hidden = false;
      var left = x * scale + 14;
      if (left + tip.offsetWidth > box.width) left = x * scale - tip.offsetWidth - 14;
      tip.style.left = left + "px";
      tip.style.top = data.top * scale + 8 + "px";
    });
  });
  // For tests: where each section is.
  if (location.hash === "#layout") {
    var layout = {height: root.scrollHeight, width: root.scrollWidth, sections: {}};
    document.querySelectorAll("section").forEach(function (s) {
      var box = s.getBoundingClientRect();
      layout.sections[s.id] = [box.left + scrollX, box.top + scrollY, box.width, box.height].map(Math.round);
    });
    root.dataset.layout = JSON.stringify(layout);
  }
})();
)js";

}  // namespace

std::string_view style_sheet() {
  return kStyle;
}

std::string_view script() {
  return kScript;
}

}  // namespace zomboss::report
