/// The defaults of one record type, proved to be of stored fields and to encode.
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

  /// The coding names of the fields that have one.
  var names: Set<String> { Set(values.keys) }

  /// Those of them that may not be nil: the default is there for a stored nil too.
  var standInNames: Set<String> {
    Set(values.filter { !(type(of: $0.value) is any OptionalType.Type) }.keys)
  }

  /// What a coder has to be told, or nil when nothing is declared.
  func declaration<R: Record>(for type: R.Type) -> (@Sendable (RecordCoder) throws -> Void)? {
    guard !values.isEmpty else { return nil }
    let values = values
    return { try $0.setDefaults(for: type, values) }
  }

  /// A text that differs when a default of one of these fields does; nil stands for all fields,
  /// since a key that is taken from the decoded record may come from any of them.
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
