internal import Foundation

extension FieldValue: CustomStringConvertible {
  /// The value in Swift notation: `17`, `"Ada"`, `nil`, `[1, 2]`, `["city": "Oslo"]`.
  public var description: String {
    switch self {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .bigInt(let value): "\(value)"
    case .bigUInt(let value): "\(value)"
    case .float(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): value.debugDescription
    case .date(let value): "\(value)"
    case .uuid(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .data(let value): "\(value.count) bytes"
    case .url(let value): value
    case .list(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
    case .record(let fields):
      "["
        + (fields.isEmpty
          ? ":"
          : fields.sorted { $0.key < $1.key }
            .map { "\($0.key.debugDescription): \($0.value)" }.joined(separator: ", ")) + "]"
    }
  }
}
