/// The ranges of ids that filters of the id allow.
enum IDBounds {
  /// Ranges in order, exact except for the prefix of a text; nil if the filter is not a bound.
  static func ranges(of node: FilterNode, _ kind: RecordIDKind) -> [KeyRange]? {
    switch node {
    case .field(let filter):
      return ranges(of: filter.test, kind)
    case .any(let nodes):
      var all: [KeyRange] = []
      for node in nodes {
        guard let ranges = ranges(of: node, kind) else { return nil }
        all += ranges
      }
      KeyRange.join(&all)
      return all
    case .all, .not, .pair, .words, .record, .related: return nil
    }
  }

  /// Whether everything in the ranges passes.
  static func isExact(_ node: FilterNode) -> Bool {
    switch node {
    case .field(let filter):
      if case .text = filter.test { return false }
      return true
    case .any(let nodes): return nodes.allSatisfy { isExact($0) }
    case .all, .not, .pair, .words, .record, .related: return false
    }
  }

  private static func ranges(of test: FieldTest, _ kind: RecordIDKind) -> [KeyRange]? {
    switch test {
    case .equal(let values): return points([values], kind)
    case .oneOf(let list): return points(list, kind)
    case .within(let lower, let upper):
      var range = KeyRange.everything
      if let lower {
        guard let id = ID(lower.values, kind) else { return nil }
        range.lower = lower.isIncluded && !id.isLong ? id.bytes : id.bytes + [0]
      }
      if let upper {
        guard let id = ID(upper.values, kind) else { return nil }
        range.upper = upper.isIncluded || id.isLong ? id.bytes + [0] : id.bytes
      }
      return range.isEmpty ? [] : [range]
    case .text(let text):
      guard kind == .string, !text.textForm.isFolded else { return nil }
      switch text.kind {
      case .equal: return points([[.string(text.text)]], kind)
      case .hasPrefix: return beginning(with: text.text)
      case .like: return text.pattern.flatMap { beginning(with: $0.prefix) }
      case .hasSuffix, .contains: return nil
      }
    }
  }

  private static func points(_ list: [[KeyValue]], _ kind: RecordIDKind) -> [KeyRange]? {
    var ranges: [KeyRange] = []
    ranges.reserveCapacity(list.count)
    for values in list {
      guard let id = ID(values, kind) else { return nil }
      // No id is that long.
      if id.isLong { continue }
      ranges.append(KeyRange(lower: id.bytes, upper: id.bytes + [0], needsCheck: false))
    }
    if ranges.count > 1 { KeyRange.join(&ranges) }
    return ranges
  }

  private static func beginning(with text: String) -> [KeyRange]? {
    guard !text.isEmpty, let id = ID([.string(text)], .string) else { return nil }
    return id.isLong
      ? []
      : [
        KeyRange(
          lower: id.bytes, upper: KeyRange.successor(ofPrefix: id.bytes), needsCheck: true)
      ]
  }

  /// The stored bytes of an id. For a text that is too long for an id, they are cut to the maximum
  /// length of ids, so that they still separate smaller ids from greater ones.
  private struct ID {
    var bytes: [UInt8]
    var isLong = false

    init?(_ values: [KeyValue], _ kind: RecordIDKind) {
      guard values.count == 1 else { return nil }
      switch (kind, values[0]) {
      case (.assigned, .signed(let number)), (.integer, .signed(let number)):
        bytes = ID.bytes(UInt64(bitPattern: number) ^ 1 << 63)
      case (.unsigned, .unsigned(let number)): bytes = ID.bytes(number)
      case (.uuid, .uuid(let uuid)): bytes = uuid
      case (.string, .string(let text)):
        bytes = [1] + NFC.normalized(text)
        if bytes.count > KeyWriter.keyLimit + 1 {
          bytes.removeLast(bytes.count - KeyWriter.keyLimit - 1)
          isLong = true
        }
      default: return nil
      }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
      withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) }
    }
  }
}

extension FilterNode {
  /// Whether the id of a record decides the filter, so that no record is read for it.
  func isDecided(byID kind: RecordIDKind) -> Bool {
    switch self {
    case .all(let nodes), .any(let nodes):
      !nodes.isEmpty && nodes.allSatisfy { $0.isDecided(byID: kind) }
    case .not(let node): node.isDecided(byID: kind)
    case .field(let filter):
      filter.field.identity == .id && !filter.field.isMultiple && filter.field.calculation == nil
        && kind.holds(filter.field.form)
    case .pair, .words, .record, .related: false
    }
  }
}

extension RecordIDKind {
  /// Whether ids have the values of a field of this form.
  fileprivate func holds(_ form: KeyForm) -> Bool {
    guard case .primitive(let primitive) = form.node else { return false }
    return switch (self, primitive) {
    case (.assigned, .int64), (.uuid, .uuid), (.string, .string): true
    case (.integer, .int8), (.integer, .int16), (.integer, .int32), (.integer, .int64): true
    case (.unsigned, .uint8), (.unsigned, .uint16), (.unsigned, .uint32), (.unsigned, .uint64):
      true
    default: false
    }
  }
}
