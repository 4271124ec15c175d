extension Plan {
  /// The plan on a few lines: the source of the rows, then the steps in order.
  ///
  /// ```text
  /// index city_age ["London", 18] ... ["London"] descending
  ///   key filter age != 20
  ///   filter name.hasPrefix("A")
  ///   order served by the index
  ///   limit 20
  /// ```
  func text(in schema: CollectionSchema) -> String {
    var lines = PlanLines(schema)
    addSteps(to: &lines)
    if let after { lines.add("after " + text(of: after, schema)) }
    if offset > 0 { lines.add("offset \(offset)") }
    if let limit { lines.add("limit \(limit)") }
    if let groups { lines.add(groups.text) }
    if isCovering, let text = coverText { lines.add(text) }
    for otherwise in alternatives {
      lines.indent = 1
      lines.add("or, once that costs less")
      lines.indent += 1
      var other = self
      (other.source, other.residue, other.order) = (
        otherwise.source, otherwise.residue, otherwise.order
      )
      other.addSteps(to: &lines)
    }
    return lines.text
  }

  /// The source of the rows, and the steps until they are in order.
  private func addSteps(to lines: inout PlanLines) {
    lines.add(source, direction: isDescending ? " descending" : "")
    lines.indent += 1
    for scan in idBounds where isOfRecords { lines.add(idBound: scan) }
    for node in residue {
      let isOfID = node.isDecided(byID: lines.schema.idKind)
      lines.add((isOfID ? "id filter " : "filter ") + node.text)
    }
    addOrder(to: &lines)
  }

  private var isOfRecords: Bool {
    if case .records = source { return true }
    return false
  }

  private var isDescending: Bool {
    switch (source, order) {
    case (.records, .byID(let descends)), (.index, .byIndex(_, let descends, _)): descends
    case (.list(let scan), .byID(let descends)): descends && scan.ids.count == 1
    default: false
    }
  }

  private func addOrder(to lines: inout PlanLines) {
    switch (order, source) {
    case (.any, _), (_, .nothing), (.byID, .records): break
    case (.byID, .list(let scan)) where scan.ids.count == 1: break
    case (.byID(let descends), _):
      if !descends, isInOrderOfIDs(source) { break }
      lines.add("sort by id" + (descends ? " descending" : ""))
    case (.byIndex(_, _, let idsDescend), _):
      lines.add("order served by the index" + (idsDescend ? ", ids descending" : ""))
    case (.sorted(let terms, let idsDescend), _):
      var text = "sort by " + terms.map(\.text).joined(separator: ", ")
      if idsDescend { text += ", ids descending" }
      if let limit {
        let (kept, isTooGreat) = limit.addingReportingOverflow(offset)
        if !isTooGreat { text += ", keeping \(kept)" }
      }
      lines.add(text)
    }
  }

  /// Whether ids already come in order.
  private func isInOrderOfIDs(_ source: Source) -> Bool {
    switch source {
    case .nothing, .records: true
    case .index(let scan): scan.isPoints && scan.ranges.count == 1
    case .list(let scan): scan.ids.count == 1
    case .search, .union, .intersection: true
    }
  }

  private var coverText: String? {
    switch source {
    case .nothing: nil
    case .records: "answered from the ids alone"
    case .index: "answered from the index alone"
    case .list: "answered from the list alone"
    case .search: "answered from the index alone"
    case .union, .intersection: "answered from the indexes alone"
    }
  }

  private func text(of token: PageToken, _ schema: CollectionSchema) -> String {
    if PlanText.hidesValues { return PlanText.hidden }
    let id = token.id.withUnsafeBytes { schema.idKind.text(of: $0) }
    return (token.values.map { PlanText.value($0) } + ["id \(id)"]).joined(separator: ", ")
  }
}

extension Plan.Groups {
  /// Its line in the text of a plan.
  fileprivate var text: String {
    switch reading {
    case .counting: "counts group by group"
    case .skipping: "skips from group to group"
    case .byID: "reads keys group by group"
    }
  }
}

extension OrderTerm {
  /// Its text in plans.
  var text: String {
    if field.weights != nil { return field.name + (descends ? "" : ", the worst first") }
    return field.name + textForm.words + (descends ? " descending" : "")
  }
}

/// The lines of the text of a plan.
private struct PlanLines {
  let schema: CollectionSchema
  var indent = 0
  private(set) var text = ""

  init(_ schema: CollectionSchema) { self.schema = schema }

  mutating func add(_ line: String) {
    if !text.isEmpty { text += "\n" }
    text += String(repeating: "  ", count: indent) + line
  }

  mutating func add(idBound scan: Plan.IndexScan) {
    let index = schema.indexes[scan.index]
    add("ids within those of index \(index.name) " + BoundsText(scan, index).text)
  }

  mutating func add(_ source: Plan.Source, direction: String) {
    switch source {
    case .nothing: add("nothing")
    case .records(let ranges): add(PlanLines.text(ofIDs: ranges, schema.idKind) + direction)
    case .index(let scan):
      let index = schema.indexes[scan.index]
      add("index \(index.name) " + BoundsText(scan, index).text + direction)
      indent += 1
      for node in scan.keyFilter { add("key filter " + node.text) }
      indent -= 1
    case .list(let scan):
      add(
        (scan.ids.count == 1 ? "list " : "lists ") + scan.filter.name + " of "
          + PlanText.shortened(scan.ids.map { "[" + PlanText.value($0) + "]" }) + direction)
    case .search(let scan): add("search " + scan.filter.searchText)
    case .union(let parts): add("union", of: parts)
    case .intersection(let parts): add("intersection", of: parts)
    }
  }

  private mutating func add(_ name: String, of parts: [Plan.Source]) {
    add(name)
    indent += 1
    for part in parts { add(part, direction: "") }
    indent -= 1
  }

  // MARK: Ids

  private static func text(ofIDs ranges: [KeyRange], _ kind: RecordIDKind) -> String {
    if ranges.count == 1, ranges[0].isEverything { return "all records" }
    return "records " + PlanText.shortened(ranges.map { text(ofIDs: $0, kind) })
  }

  /// Bounds of ids are whole ids, or ids followed by a zero, which stands for the position after an
  /// id.
  private static func text(ofIDs range: KeyRange, _ kind: RecordIDKind) -> String {
    let lower = range.lower.isEmpty ? nil : end(range.lower, kind)
    guard let bytes = range.upper else {
      return lower.map { "\($0.text) \($0.isBehind ? "<.." : "...")" } ?? "..."
    }
    if kind == .string, KeyRange.successor(ofPrefix: range.lower) == bytes, let lower {
      return "\(lower.text.dropLast())*]"
    }
    let upper = end(bytes, kind)
    guard let lower else { return "\(upper.isBehind ? "..." : "..<") \(upper.text)" }
    if upper.isBehind, !lower.isBehind, range.lower.elementsEqual(bytes.dropLast()) {
      return lower.text
    }
    let mark = (lower.isBehind ? "<." : "..") + (upper.isBehind ? "." : "<")
    return "\(lower.text) \(mark) \(upper.text)"
  }

  private static func end(
    _ bytes: [UInt8], _ kind: RecordIDKind
  ) -> (text: String, isBehind: Bool) {
    let isBehind = bytes.count > (kind.width ?? 1) && bytes.last == 0
    if PlanText.hidesValues { return ("[" + PlanText.hidden + "]", isBehind) }
    let id = isBehind ? bytes.dropLast() : bytes[...]
    let text = id.withUnsafeBytes { kind.text(of: $0) }
    return ("[" + (kind == .string ? PlanText.value(.string(text)) : text) + "]", isBehind)
  }
}

/// The bounds of a scan as the keys that it begins and ends with.
private struct BoundsText {
  private let scan: Plan.IndexScan
  private let index: IndexSchema
  /// All combinations of the constants of the first components.
  private var prefixes: [[String]] = [[]]
  /// The filters of the next component.
  private var rest: [FilterNode] = []

  /// The maximum number that is printed.
  private static let limit = 32

  init(_ scan: Plan.IndexScan, _ index: IndexSchema) {
    self.scan = scan
    self.index = index
    for (place, node) in scan.bounds.enumerated() {
      guard rest.isEmpty, place < index.fields.count, case .field(let filter) = node,
        case .points = Conjunct(node).bound(of: index.fields[place])
      else {
        rest.append(node)
        continue
      }
      let values: [[KeyValue]]
      if case .text(let text) = filter.test {
        values = [[.string(text.wanted)]]
      } else {
        values = filter.test.constants ?? []
      }
      var texts: [String] = []
      for value in values.prefix(BoundsText.limit) {
        let form = index.fields[place].textForm
        let text = PlanText.value(form.isFolded ? value.map { $0.folded(form) } : value)
        if !texts.contains(text) { texts.append(text) }
      }
      var longer: [[String]] = []
      for prefix in prefixes.prefix(BoundsText.limit) {
        for text in texts { longer.append(prefix + [text]) }
      }
      prefixes = longer
    }
  }

  var text: String {
    if scan.bounds.isEmpty { return "all entries" }
    let texts = prefixes.map { text(after: $0) }
    let shown = texts.prefix(8).joined(separator: ", ")
    return texts.count > 8 ? shown + ", … \(scan.ranges.count) ranges" : shown
  }

  private func text(after prefix: [String]) -> String {
    guard let first = rest.first else { return key(prefix) }
    if rest.count == 1, case .field(let filter) = first {
      switch filter.test {
      case .within(let lower, let upper) where lower != nil || upper != nil:
        return interval(lower, upper, after: prefix)
      case .text(let text):
        let beginning = KeyValue.string(
          text.kind == .like ? text.pattern?.prefix ?? "" : text.wanted)
        let form = index.fields[prefix.count].textForm
        return key(prefix + [PlanText.value(beginning.folded(form)) + "*"])
      case .equal, .oneOf, .within: break
      }
    }
    return key(prefix + [FilterNode.all(rest).text])
  }

  private func interval(
    _ lower: ValueBound?, _ upper: ValueBound?, after prefix: [String]
  ) -> String {
    let from = end(lower, after: prefix)
    let to = end(upper, after: prefix)
    let mark =
      (lower?.isIncluded == false ? "<." : "..") + (upper?.isIncluded == false ? "<" : ".")
    return [from, mark, to].compactMap { $0 }.joined(separator: " ")
  }

  private func end(_ bound: ValueBound?, after prefix: [String]) -> String? {
    guard let bound else { return prefix.isEmpty ? nil : key(prefix) }
    return key(prefix + [PlanText.value(bound.values)])
  }

  private func key(_ parts: [String]) -> String { "[" + parts.joined(separator: ", ") + "]" }
}

extension KeyValue {
  /// In the form of an index.
  fileprivate func folded(_ form: TextForm) -> KeyValue {
    if case .string(let text) = self { return .string(form.folded(text)) }
    return self
  }
}
