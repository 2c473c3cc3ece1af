"""The theme: colours, spacing and type of all pages, light and dark, as one style sheet.

Text on its background has a contrast of at least 4.5 to 1 (WCAG AA).
"""

from __future__ import annotations

_LIGHT = """
  --ground: #f6f6f3; --surface: #ffffff; --sunk: #eceeeb; --line: #d5d8d3;
  --text: #1b1e21; --muted: #555d66; --accent: #0a5a9c; --on-accent: #ffffff;
  --mark: #ffe9a8; --good: #1b6b3a; --bad: #a32222; --good-ground: #e2f3e6; --bad-ground: #fbe6e4;
  --warn-ground: #fdf1cf; --warn: #6b4b00;
"""
_DARK = """
  --ground: #131619; --surface: #1c2024; --sunk: #262b30; --line: #3a4149;
  --text: #e9ebed; --muted: #a9b2bb; --accent: #82bbff; --on-accent: #0b1a2b;
  --mark: #5c4a10; --good: #86d8a0; --bad: #ff9d96; --good-ground: #16301f; --bad-ground: #3b1a1a;
  --warn-ground: #3a2f0d; --warn: #f2cf7a;
"""

CSS = f"""
:root {{ {_LIGHT} --gap: 16px; --small: 8px; --round: 10px;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }}
body.body--dark {{ {_DARK} }}
@media (prefers-color-scheme: dark) {{ body.plain {{ {_DARK} }} }}
""" + """
body { background: var(--ground); color: var(--text); font: 15px/1.55 var(--sans); margin: 0; }
.nicegui-content { padding: 0; gap: 0; display: block; }
.q-page-container, .q-layout { min-height: 0; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
h1 { font-size: 22px; line-height: 1.3; margin: 0 0 var(--small); font-weight: 650; }
h2 { font-size: 13px; margin: 0 0 var(--small); font-weight: 650; letter-spacing: .04em;
  text-transform: uppercase; color: var(--muted); line-height: 1.4; }
h3 { font-size: 15px; line-height: 1.4; margin: 0; font-weight: 600; }
p { margin: 0 0 var(--small); }
code, pre, .mono { font-family: var(--mono); font-size: 13px; }
.muted { color: var(--muted); } .small { font-size: 13px; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 8px; top: 8px; background: var(--surface); padding: 8px; z-index: 9999; }

.top { background: var(--surface); border-bottom: 1px solid var(--line); }
.bar { max-width: 1240px; margin: 0 auto; padding: 8px 20px; display: flex; gap: 8px 20px;
  align-items: center; flex-wrap: wrap; }
.brand { font-weight: 750; letter-spacing: .12em; color: var(--text); }
.nav { display: flex; gap: 4px; flex: 1; overflow-x: auto; }
.nav a { padding: 6px 10px; border-radius: 8px; color: var(--text); white-space: nowrap; }
.nav a[aria-current=page] { background: var(--sunk); font-weight: 600; }
.time { border-top: 1px solid var(--line); }
.time .bar { padding: 4px 20px; flex-wrap: nowrap; }
.time .q-slider { flex: 1; min-width: 80px; }
.time .moment { min-width: 9.5em; font-variant-numeric: tabular-nums; }
.time.past { background: var(--warn-ground); } .time.past .moment { color: var(--warn); font-weight: 600; }
.page { max-width: 1240px; margin: 0 auto; padding: 24px 20px 64px; display: block; }
.two { display: grid; grid-template-columns: minmax(0, 2fr) minmax(280px, 1fr); gap: 28px; }
.stack { display: flex; flex-direction: column; gap: var(--gap); min-width: 0; }
.tight { display: flex; flex-direction: column; gap: 4px; min-width: 0; }
.line { display: flex; gap: var(--small); align-items: center; flex-wrap: wrap; min-width: 0; }
.spread { justify-content: space-between; }

.card { background: var(--surface); border: 1px solid var(--line); border-radius: var(--round);
  padding: 14px 16px; min-width: 0; overflow-wrap: anywhere; display: block; }
.card:target { border-color: var(--accent); box-shadow: 0 0 0 2px var(--accent); }
.card .text { white-space: pre-wrap; margin: 6px 0; }
.answer { font-size: 17px; line-height: 1.6; }
.number { display: inline-block; min-width: 22px; text-align: center; border-radius: 6px;
  background: var(--sunk); font-size: 12px; font-weight: 650; padding: 1px 5px; color: var(--text); }
a.number { color: var(--accent); margin-left: 3px; }
.chip { display: inline-block; border-radius: 99px; background: var(--sunk); padding: 1px 9px;
  font-size: 12px; color: var(--muted); overflow-wrap: anywhere; }
.chip.old { background: var(--warn-ground); color: var(--warn); }
.chip.good { background: var(--good-ground); color: var(--good); }
.chip.bad { background: var(--bad-ground); color: var(--bad); }
.empty { text-align: center; padding: 40px 16px; color: var(--muted); display: block; }
.error { background: var(--bad-ground); color: var(--bad); border-radius: var(--round);
  padding: 10px 14px; overflow-wrap: anywhere; }
.note { background: var(--warn-ground); color: var(--warn); border-radius: var(--round);
  padding: 10px 14px; }
mark { background: var(--mark); color: inherit; }
.source { white-space: pre-wrap; font: 14px/1.6 var(--mono); overflow-wrap: anywhere; margin: 0; }

button.plain, .act { font: inherit; font-size: 14px; border: 1px solid var(--line); cursor: pointer;
  background: var(--surface); color: var(--text); border-radius: 8px; padding: 6px 12px; }
.act:hover { border-color: var(--accent); } .act[aria-pressed=true] { background: var(--sunk); }
.act.main { background: var(--accent); color: var(--on-accent); border-color: var(--accent);
  font-weight: 600; }
.act.quiet { border-color: transparent; background: none; padding: 4px 8px; }
.act:disabled { opacity: .55; cursor: default; }
.field { font: inherit; color: var(--text); background: var(--surface); border-radius: 8px;
  border: 1px solid var(--line); padding: 8px 12px; min-width: 0; }
input.field::placeholder { color: var(--muted); opacity: 1; }
.grow { flex: 1 1 240px; }
label.small { color: var(--muted); }

.fall { display: grid; grid-template-columns: max-content 1fr max-content; gap: 3px 10px;
  align-items: center; font-size: 13px; }
.fall .track { height: 10px; background: var(--sunk); border-radius: 5px; position: relative; }
.fall .span { position: absolute; height: 10px; background: var(--accent); border-radius: 5px;
  min-width: 3px; }
.fall .did { grid-column: 2 / 4; color: var(--muted); font-size: 12px; margin-bottom: 5px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 8px 10px; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-size: 12px; color: var(--muted); font-weight: 600; }
.scroll { overflow-x: auto; }
.drawn { overflow-x: auto; } .drawn svg { display: block; max-width: none; }
.drawn .node { fill: var(--sunk); stroke: var(--line); } .drawn text { fill: var(--text);
  font: 12px var(--sans); } .drawn .edge { stroke: var(--muted); fill: none; }
.drawn .label { fill: var(--muted); font-size: 11px; } .drawn .tip { fill: var(--muted); }

.trace { list-style: none; margin: 0; padding: 0 0 0 18px; border-left: 2px solid var(--line); }
.trace li { position: relative; padding: 0 0 14px 4px; }
.trace li::before { content: ""; position: absolute; left: -26px; top: 7px; width: 12px; height: 12px;
  border-radius: 50%; background: var(--surface); border: 2px solid var(--muted); }
.trace li.now::before { background: var(--accent); border-color: var(--accent); }
.diff { font: 13px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.diff .added { background: var(--good-ground); color: var(--good); display: block; }
.diff .removed { background: var(--bad-ground); color: var(--bad); display: block; }
.diff .same, .diff .place { display: block; } .diff .place { color: var(--muted); }

.sign-in { max-width: 380px; margin: 12vh auto 0; padding: 28px; background: var(--surface);
  border: 1px solid var(--line); border-radius: 14px; }
.sign-in label { display: block; margin: 16px 0 4px; font-weight: 600; }
.sign-in input, .sign-in button { width: 100%; box-sizing: border-box; font: inherit;
  padding: 10px 12px; border-radius: 8px; border: 1px solid var(--line); background: var(--ground);
  color: var(--text); }
.sign-in button { margin: 12px 0 16px; background: var(--accent); color: var(--on-accent);
  border: 0; font-weight: 600; cursor: pointer; }

@media (max-width: 900px) { .two { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 600px) {
  .bar { padding: 8px 12px; gap: 6px 10px; } .page { padding: 16px 12px 48px; }
  .nav { order: 9; flex-basis: 100%; } .brand { flex: 1; }
  .time .bar { padding: 2px 12px; } .time .moment { min-width: 7em; font-size: 13px; }
  .sign-in { margin: 24px 12px; } .answer { font-size: 16px; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""
