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
    guard size > 0 else { return }
    var records: [(id: String, json: String, fields: [(name: String, json: String)]?)] = []
    try inspector.query("limit \(size)", in: collection).forEach { row in
      let json = try row.json()
      // A record that is a single value or a list has no fields.
      records.append((row.id, json, json.hasPrefix("{") ? try row.fields() : nil))
      return true
    }
    var names: Set<String> = []
    for record in records { names.formUnion((record.fields ?? []).map(\.name)) }
    // The id has its own column.
    columns = names.filter { $0 != "id" }.sorted()
    let isWide = columns.count > Self.columnLimit
    if isWide || records.contains(where: { $0.fields == nil }) { columns = ["record"] }
    for record in records {
      let cells: [Cell]
      if columns == ["record"],
        isWide || record.fields?.contains(where: { $0.name == "record" }) != true
      {
        cells = [.json(HTML.cut(record.json, to: Self.valueLimit * 4))]
      } else {
        let values = Dictionary(
          (record.fields ?? []).map { ($0.name, $0.json) }, uniquingKeysWith: { $1 })
        cells = columns.map { values[$0].map(Self.cell) ?? .absent }
      }
      rows.append((HTML.cut(record.id, to: Self.valueLimit), cells))
    }
  }

  private static func cell(_ json: String) -> Cell {
    guard let first = json.utf8.first else { return .absent }
    switch first {
    case UInt8(ascii: "\""):
      guard let text = try? JSONDecoder().decode(String.self, from: Data(json.utf8)) else {
        return .json(HTML.cut(json, to: valueLimit))
      }
      return .text(HTML.cut(text, to: valueLimit))
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), 0x30...0x39: return .number(json)
    default: return .json(HTML.cut(json, to: valueLimit))
    }
  }
}
