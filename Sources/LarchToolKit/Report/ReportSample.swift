internal import Foundation
internal import Larch
internal import LarchInspection

/// The first records of a collection as a table.
struct ReportSample {
  /// A displayed value.
  enum Cell: Equatable {
    /// The record has no such field.
    case absent
    case null
    case number(String)
    case text(String)
    /// A boolean, a list or a nested value, as JSON.
    case json(String)
  }

  /// If there are more fields than this, they are shown together as JSON.
  private static let columnLimit = 14
  /// The maximum number of displayed characters of a value.
  private static let valueLimit = 160

  private(set) var columns: [String] = []
  /// The id, and a cell for each column.
  private(set) var rows: [(id: String, cells: [Cell])] = []

  init(
    of collection: StoreInspector.Collection, _ inspector: StoreInspector, size: Int
  ) throws {
    struct Enough: Error {}
    var records: [(id: String, json: String)] = []
    do {
      if size == 0 { throw Enough() }
      try inspector.forEachRecord(in: collection) { id, json in
        records.append((id, json))
        if records.count == size { throw Enough() }
      }
    } catch is Enough {
      // The requested number of records.
    }
    self.init(records)
  }

  init(_ records: [(id: String, json: String)]) {
    let members = records.map { JSONMembers.of($0.json) }
    var names: Set<String> = []
    for member in members { names.formUnion((member ?? []).map(\.name)) }
    // The id has its own column.
    columns = names.filter { $0 != "id" }.sorted()
    let isWide = columns.count > Self.columnLimit
    if isWide || members.contains(where: { $0 == nil }) { columns = ["record"] }
    for (record, members) in zip(records, members) {
      let cells: [Cell]
      if columns == ["record"], isWide || members?.contains(where: { $0.name == "record" }) != true
      {
        cells = [.json(HTML.cut(record.json, to: Self.valueLimit * 4))]
      } else {
        let values = Dictionary(
          (members ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        cells = columns.map { values[$0].map(Self.cell) ?? .absent }
      }
      rows.append((HTML.cut(record.id, to: Self.valueLimit), cells))
    }
  }

  private static func cell(_ json: Substring) -> Cell {
    guard let first = json.utf8.first else { return .absent }
    switch first {
    case UInt8(ascii: "\""):
      guard let text = JSONMembers.text(json) else { return .json(String(json.prefix(valueLimit))) }
      return .text(HTML.cut(text, to: valueLimit))
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), 0x30...0x39: return .number(String(json))
    default: return .json(HTML.cut(String(json), to: valueLimit))
    }
  }
}

/// Parses JSON that Larch wrote, as far as a table needs it: values keep their digits.
enum JSONMembers {
  /// The members of an object with the texts of their values; nil for anything else.
  static func of(_ json: String) -> [(name: String, value: Substring)]? {
    let bytes = json.utf8
    guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else { return nil }
    var members: [(name: String, value: Substring)] = []
    var start = bytes.index(after: bytes.startIndex)
    var colon: String.Index?
    var depth = 0
    var isInText = false
    var isEscaped = false
    var place = start
    func take(_ end: String.Index) {
      guard let at = colon, let name = text(json[start..<at]) else { return }
      members.append((name, json[bytes.index(after: at)..<end]))
    }
    while place < bytes.endIndex {
      let byte = bytes[place]
      if isInText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInText = false
        }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: ":") where depth == 0 && colon == nil: colon = place
        case UInt8(ascii: ",") where depth == 0:
          take(place)
          start = bytes.index(after: place)
          colon = nil
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { take(place) }
          depth -= 1
        default: break
        }
      }
      place = bytes.index(after: place)
    }
    return members
  }

  /// The text of a JSON string; nil for other JSON.
  static func text(_ json: Substring) -> String? {
    try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed) as? String
  }
}
