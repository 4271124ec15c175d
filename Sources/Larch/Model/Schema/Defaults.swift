/// The defaults of one record type, checked to be encodable and for stored fields.
struct Defaults {
  private var values: [String: any Encodable & Sendable] = [:]
  private var encoded: [String: [UInt8]] = [:]

  init<R: Record>(of type: R.Type) throws {
    for declaration in R.schema.defaults {
      guard case .stored(let names, _) = declaration.resolve(), names.count == 1 else {
        throw LarchError(
          .invalidSchema,
          "A default needs a stored property of the record itself; name one."
        ) { $0.collection = R.collectionName }
      }
      let name = names[0]
      guard values[name] == nil else {
        throw LarchError(.invalidSchema, "A field has two defaults; remove one.") {
          $0.collection = R.collectionName
          $0.field = name
        }
      }
      do {
        let coder = RecordCoder(shapes: ShapeTable(), writesMaps: true)
        encoded[name] = Array(try coder.encode(declaration.value))
      } catch {
        throw LarchError(
          .invalidSchema, "A default cannot be encoded; declare a value that can.",
          underlying: error
        ) {
          $0.collection = R.collectionName
          $0.field = name
        }
      }
      values[name] = declaration.value
    }
  }

  /// The coding names of the fields that have a default.
  var names: Set<String> { Set(values.keys) }

  /// The fields that cannot be nil: their default also replaces a stored nil.
  var standInNames: Set<String> {
    Set(values.filter { !(type(of: $0.value) is any OptionalType.Type) }.keys)
  }

  /// The function that gives the defaults to a coder; nil if there are none.
  func declaration<R: Record>(for type: R.Type) -> (@Sendable (RecordCoder) throws -> Void)? {
    guard !values.isEmpty else { return nil }
    let values = values
    return { try $0.setDefaults(for: type, values) }
  }

  /// A text that changes with the defaults of these fields; nil stands for all fields, since a key
  /// of the decoded record may come from any of them.
  func mark(for fields: [String]?) -> String? {
    let names = (fields ?? Array(encoded.keys)).filter { encoded[$0] != nil }
    guard !names.isEmpty else { return nil }
    var checksum = Checksum()
    for name in Set(names).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      name.utf8CString.withUnsafeBytes { checksum.add($0) }
      encoded[name]?.withUnsafeBytes { checksum.add($0) }
    }
    return "default:" + String(checksum.value, radix: 16)
  }
}
