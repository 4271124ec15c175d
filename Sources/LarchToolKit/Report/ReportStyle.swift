/// The style of a report: light, dark, and on paper.
enum ReportStyle {
  static let text = """
    :root {
      color-scheme: light dark;
      --page: #f6f7f9; --card: #ffffff; --ink: #16202c; --faint: #566475; --line: #d9dfe6;
      --soft: #eef1f5; --accent: #0b6bcb; --lists: #8a3ffc;
      --c1: #2f7de1; --c2: #e08a1e; --c3: #8a5cd6; --c4: #7b8794; --c5: #cfd6de;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #10151c; --card: #19212b; --ink: #e8edf3; --faint: #a2b0c0; --line: #2f3b49;
        --soft: #222c38; --accent: #6cb4ff; --lists: #c0a1ff;
        --c1: #4a94f0; --c2: #f0a23c; --c3: #a98bea; --c4: #8b99a9; --c5: #45525f;
      }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--page); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }
    main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
    header { padding-top: 36px; }
    h1 { margin: 0; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere; }
    h2 { margin: 0 0 14px; font-size: 19px; }
    h3 { margin: 26px 0 8px; font-size: 16px; overflow-wrap: anywhere; }
    h3:first-of-type { margin-top: 14px; }
    h3 .faint { font-weight: 400; font-size: 14px; margin-left: 6px; }
    p { margin: 6px 0; }
    .faint { color: var(--faint); }
    nav ul, .figures, .legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; }
    nav ul { gap: 6px 18px; margin: 14px 0 0; }
    a { color: var(--accent); }
    section {
      background: var(--card); border: 1px solid var(--line); border-radius: 12px;
      padding: 20px 22px; margin: 18px 0;
    }
    .figures { gap: 12px; margin: 22px 0 0; }
    .figures li {
      flex: 1 1 140px; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
      padding: 12px 16px; color: var(--faint); font-size: 13px;
    }
    .figures b { display: block; color: var(--ink); font-size: 23px; line-height: 1.3; font-weight: 650; }
    .scroll { overflow-x: auto; }
    svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; fill: var(--ink); }
    .diagram { display: block; max-width: none; margin: 0 auto; }
    .box rect { fill: var(--card); stroke: var(--faint); stroke-width: 1.2; }
    .box .name { font-weight: 650; }
    .box .count, .box .sign { fill: var(--faint); font-size: 12px; }
    .box .sign { text-anchor: end; }
    .box .row { font-size: 12.5px; }
    .rule { stroke: var(--line); fill: none; }
    .link { fill: none; stroke: var(--accent); stroke-width: 1.6; }
    .link.lists { stroke: var(--lists); }
    .tip { fill: none; stroke: var(--accent); stroke-width: 1.6; }
    .dot { fill: var(--lists); }
    .chart { display: block; width: 100%; height: auto; }
    .chart .label { text-anchor: end; }
    .chart .value { fill: var(--faint); }
    .c1 { fill: var(--c1); background: var(--c1); } .c2 { fill: var(--c2); background: var(--c2); }
    .c3 { fill: var(--c3); background: var(--c3); } .c4 { fill: var(--c4); background: var(--c4); }
    .c5 { fill: var(--c5); background: var(--c5); } .track { fill: var(--soft); }
    .legend { gap: 4px 22px; margin: 12px 0 4px; font-size: 14px; }
    .key { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 7px; }
    .meter { display: inline-flex; align-items: center; gap: 8px; white-space: nowrap; }
    .meter svg { width: 74px; height: 8px; border-radius: 4px; }
    table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
    caption { text-align: left; color: var(--faint); padding-bottom: 6px; }
    th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); }
    thead th { color: var(--faint); font-weight: 600; white-space: nowrap; }
    tbody th { font-weight: 600; }
    td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    td code { font: 12.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
    .records td, .records tbody th { max-width: 260px; overflow-wrap: anywhere; }
    .records tbody th { white-space: nowrap; font-variant-numeric: tabular-nums; }
    .tag { border: 1px solid var(--line); border-radius: 6px; padding: 0 6px; font-size: 12px; color: var(--faint); white-space: nowrap; }
    .tag.warn { color: #9a3412; border-color: currentColor; }
    @media (prefers-color-scheme: dark) { .tag.warn { color: #ffb585; } }
    .search { display: flex; gap: 12px; align-items: center; flex-wrap: wrap; margin-bottom: 4px; }
    .search input {
      flex: 1 1 260px; font: inherit; color: inherit; background: var(--soft);
      border: 1px solid var(--faint); border-radius: 8px; padding: 8px 12px;
    }
    .search input:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    [hidden] { display: none; }
    footer { padding-bottom: 40px; color: var(--faint); font-size: 13px; }
    @media print {
      :root {
        --page: #fff; --card: #fff; --ink: #000; --faint: #444; --line: #bbb; --soft: #eee;
        --accent: #0b4f99; --lists: #5b21b6;
        --c1: #2f7de1; --c2: #e08a1e; --c3: #8a5cd6; --c4: #7b8794; --c5: #cfd6de;
      }
      * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
      body { font-size: 11px; }
      section, .figures li { border-radius: 0; padding: 8px 0; border-width: 1px 0 0; break-inside: auto; }
      main, header, footer { max-width: none; padding: 0; }
      nav, .search { display: none; }
      .diagram { max-width: 100%; height: auto; }
      .scroll { overflow: visible; }
      h2, h3 { break-after: avoid; }
      tr, .diagram { break-inside: avoid; }
    }
    """
}

/// The script of a report: it hides the records that a search does not find. Without it, all are
/// shown.
enum ReportScript {
  static let text = """
    (function () {
      "use strict";
      var input = document.getElementById("search");
      var status = document.getElementById("found");
      if (!input || !status) { return; }
      var groups = Array.prototype.map.call(document.querySelectorAll(".records"), function (table) {
        return {
          parts: [table, document.getElementById(table.getAttribute("data-heading"))],
          rows: Array.prototype.map.call(table.querySelectorAll("tbody tr"), function (row) {
            return { row: row, text: row.textContent.toLowerCase() };
          })
        };
      });
      function search() {
        var words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
        var found = 0, all = 0;
        groups.forEach(function (group) {
          var here = 0;
          group.rows.forEach(function (item) {
            var fits = words.every(function (word) { return item.text.indexOf(word) >= 0; });
            item.row.hidden = !fits;
            if (fits) { here += 1; }
          });
          found += here;
          all += group.rows.length;
          group.parts.forEach(function (part) {
            if (part) { part.hidden = words.length > 0 && here === 0; }
          });
        });
        status.textContent = words.length ? found + " of " + all + " records" : all + " records";
      }
      document.querySelector(".search").hidden = false;
      input.addEventListener("input", search);
      search();
    })();
    """
}
