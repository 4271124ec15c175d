internal import Foundation

/// The values of a program for the placeholders of a query, so that no text of a user becomes a part
/// of the query.
package struct QueryValues {
  let list: [FieldValue]
  let named: [String: FieldValue]

  init(_ list: [FieldValue] = [], named: [String: FieldValue] = [:]) {
    self.list = list
    self.named = named
  }

  /// The tokens of a query, with the values in place of the placeholders.
  ///
  /// - Parameter values: nil for a query that cannot have any.
  /// - Throws: `QueryTextError` for a placeholder without a value, and for values that no placeholder
  ///   uses.
  static func put(
    _ values: QueryValues?, into places: [QueryLexer.Place]
  ) throws(QueryTextError) -> [QueryLexer.Place] {
    var result: [QueryLexer.Place] = []
    var count = 0
    var used: Set<String> = []
    for place in places {
      guard case .placeholder(let name) = place.token else {
        result.append(place)
        continue
      }
      guard let values else {
        throw QueryTextError(
          place.column, "\(place.source) has no value here: write the constant itself")
      }
      let value: FieldValue
      if let name {
        value = try values.value(named: name, place)
        used.insert(name)
      } else {
        guard count < values.list.count else {
          throw QueryTextError(
            place.column,
            "this placeholder has no value: the number of values is \(values.list.count)"
          )
        }
        value = values.list[count]
        count += 1
      }
      result.append(
        QueryLexer.Place(
          token: try token(value, place), column: place.column, source: place.source))
    }
    if let values { try values.checkUsed(count, used, end: places.last?.column ?? 1) }
    return result
  }

  private func value(
    named name: String, _ place: QueryLexer.Place
  ) throws(QueryTextError) -> FieldValue {
    if let value = named[name] { return value }
    var message = "there is no value named \(QueryTextError.shown(name))"
    if let near = SimilarName.best(for: name, among: named.keys.sorted()) {
      message += "; did you mean \(QueryTextError.shown(near))?"
    }
    throw QueryTextError(place.column, message)
  }

  private func checkUsed(
    _ count: Int, _ used: Set<String>, end: Int
  ) throws(QueryTextError) {
    if count < list.count {
      throw QueryTextError(
        end, "the number of values is \(list.count), but that of the placeholders \"?\" is \(count)"
      )
    }
    if let unused = named.keys.filter({ !used.contains($0) }).min() {
      throw QueryTextError(
        end, "no placeholder uses the value named \(QueryTextError.shown(unused))")
    }
  }

  private static func token(
    _ value: FieldValue, _ place: QueryLexer.Place
  ) throws(QueryTextError) -> QueryLexer.Token {
    func constant(_ value: FieldValue) throws(QueryTextError) -> QueryText.Literal.Value {
      if let constant = QueryText.Literal.Value(value) { return constant }
      throw QueryTextError(
        place.column,
        "\(QueryTextError.plain(place.source)) is a value with fields of its own, which cannot be compared"
      )
    }
    guard case .list(let elements) = value else { return .value(try constant(value)) }
    var values: [QueryText.Literal.Value] = []
    for element in elements { values.append(try constant(element)) }
    return .values(values)
  }
}

extension QueryText.Literal.Value {
  /// The constant for a value of a program; nil for a list and a value with fields.
  init?(_ value: FieldValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .number("\(value)")
    case .bigInt(let value): self = .number("\(value)")
    case .bigUInt(let value): self = .number("\(value)")
    // The double is exactly the float.
    case .float(let value): self = .number("\(Double(value))")
    case .double(let value): self = .number("\(value)")
    case .string(let value), .url(let value): self = .text(value)
    case .date(let value): self = .date(value.timeIntervalSinceReferenceDate)
    case .uuid(let value): self = .uuid(withUnsafeBytes(of: value.uuid) { [UInt8]($0) })
    case .decimal(let value): self = .number(value.isNaN ? "nan" : "\(value)")
    case .data(let value): self = .bytes([UInt8](value))
    case .list, .record: return nil
    }
  }

  /// The kind of the value, with its article.
  var name: String {
    switch self {
    case .null: "nil"
    case .bool: "a bool"
    case .number, .hexadecimal: "a number"
    case .text: "a text"
    case .date: "a date"
    case .uuid: "a UUID"
    case .bytes: "data"
    }
  }
}
