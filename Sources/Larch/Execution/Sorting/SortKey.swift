/// Writes the position of a row in an order as bytes that sort as the rows do, with the id at the
/// end.
///
/// Unlike an index key it is complete: nothing is cut, each component has an end mark, and
/// descending ones are inverted. Nil comes first, and NaN after all numbers.
final class SortKey {
  private struct Term {
    let field: FieldReference
    /// Nil for the id, and if the decoded record is needed.
    let path: FieldPath?
    let isID: Bool
    let primitive: KeyForm.Primitive
    let isSimple: Bool
    let isOptional: Bool
    let descends: Bool
    let textForm: TextForm
    /// The component of the index keys that has it.
    let component: Int?
    let isFoldedComponent: Bool
    /// Set if the value is that of a related record.
    let related: RelatedTerm?
    /// Whether the value is the score of the record.
    let isScore: Bool
  }

  /// The values of related records, made for the first row.
  private final class RelatedTerm {
    private let value: RelatedValue
    private let textForm: TextForm
    private var order: RelatedOrder?

    init(_ value: RelatedValue, textForm: TextForm) {
      self.value = value
      self.textForm = textForm
    }

    func order(_ typed: TypedAccess) throws -> RelatedOrder {
      if let order { return order }
      let made = try typed.order(value, textForm: textForm)
      order = made
      return made
    }
  }

  private let terms: [Term]
  let idsDescend: Bool
  private let idWidth: Int?
  private let shapes: ShapeTable
  private let typed: TypedAccess
  /// Whether the keys of an index can give every term, unless they are cut.
  let isInKeys: Bool
  /// Whether it is one number and an id of eight bytes: then rows sort as pairs of numbers.
  let isNumber: Bool
  /// Whether rows sort by their scores and ids, so that no record is read.
  let needsNoRecord: Bool
  /// Whether rows sort by their scores, beside other values.
  let hasScores: Bool
  /// Whether rows sort by their ids alone, of eight bytes.
  var isID: Bool { terms.isEmpty && idWidth == 8 }
  // Everything for the number of a record, without a term object, whose references would be
  // counted.
  private let numberPath: FieldPath
  private let hasNumberPath: Bool
  private let numberKind: FieldKind
  private let numberFlip: UInt64
  /// The offset that makes room for nil among the numbers.
  private let numberShift: UInt64
  private let numberMayBeNil: Bool
  @exclusivity(unchecked) private var buffer = ByteBuffer()
  @exclusivity(unchecked) private var normalizer = NFCBuffer()
  /// Made for the first text of a collation.
  private var collationKeys: CollationKeys?

  init(
    _ order: [OrderTerm], idsDescend: Bool, idKind: RecordIDKind, index: IndexSchema?,
    context: TransactionContext, typed: TypedAccess
  ) {
    self.idsDescend = idsDescend
    idWidth = idKind.width
    shapes = context.shapes
    self.typed = typed
    terms = order.map { SortKey.term($0, index, context, typed.reading) }
    isInKeys =
      index != nil && terms.allSatisfy { $0.isID || ($0.component != nil && $0.isSimple) }
    hasScores = terms.contains(where: \.isScore)
    needsNoRecord =
      hasScores && terms.allSatisfy { $0.isScore || $0.isID }
    isNumber = idWidth == 8 && terms.count == 1 && SortKey.fitsNumber(terms[0])
    let first = isNumber ? terms[0] : nil
    numberPath = first?.path ?? context.idPath
    hasNumberPath = first?.path != nil
    numberKind = first?.primitive.storedKind ?? .bool
    numberFlip = first?.descends ?? false ? .max : 0
    numberMayBeNil = first?.isOptional ?? false
    // Floating point is never 0, so nil can be 0.
    numberShift = numberMayBeNil && !(first?.primitive.isFloatingPoint ?? false) ? 1 : 0
  }

  private static func term(
    _ term: OrderTerm, _ index: IndexSchema?, _ context: TransactionContext,
    _ reading: FieldReading?
  ) -> Term {
    let field = term.field
    let simple = field.form.simple
    let isID = field.identity == .id && simple != nil
    let component = index?.fields.firstIndex {
      $0.identity == field.identity && $0.form == field.form && !$0.isMultiple
        && (!$0.isFolded || $0.textForm == term.textForm)
    }
    return Term(
      field: field,
      path: isID || simple == nil || field.isMultiple
        ? nil : field.storedPath.map { context.path($0, reading) },
      isID: isID, primitive: simple?.primitive ?? .bool, isSimple: simple != nil,
      isOptional: simple?.isOptional ?? false, descends: term.descends,
      textForm: field.form.unwrapped == .primitive(.string) ? term.textForm : .exact,
      component: component,
      isFoldedComponent: component.map { index?.fields[$0].isFolded ?? false } ?? false,
      related: field.related.map { RelatedTerm($0, textForm: term.textForm) },
      isScore: field.weights != nil)
  }

  private static func fitsNumber(_ term: Term) -> Bool {
    guard term.isSimple, term.primitive.isNumber, term.related == nil else { return false }
    // Nil needs its own number, for which integers of eight bytes leave no room.
    return !term.isOptional || (term.primitive != .int64 && term.primitive != .uint64)
  }

  /// The last written bytes, valid until the next write.
  var bytes: UnsafeRawBufferPointer { buffer.bytes }

  // MARK: Numbers

  /// The number for the only term of a record.
  @inline(__always)
  func number(of record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> UInt64 {
    if hasNumberPath,
      case .value(let kind, let bytes) = try numberPath.read(in: record, shapes: shapes),
      kind == numberKind
    {
      return (ComparableNumber.of(kind, stored: bytes) &+ numberShift) ^ numberFlip
    }
    return try rareNumber(of: record, id: id)
  }

  /// Whether unverified bytes already show that their row is not wanted.
  @inline(__always)
  func refuses(_ unverified: UnsafeRawBufferPointer, _ isWanted: (UInt64) -> Bool) -> Bool {
    guard hasNumberPath,
      case .value(let kind, let bytes)? = try? numberPath.read(in: unverified, shapes: shapes),
      kind == numberKind
    else { return false }
    return !isWanted((ComparableNumber.of(kind, stored: bytes) &+ numberShift) ^ numberFlip)
  }

  @inline(never)
  private func rareNumber(
    of record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> UInt64 {
    if terms[0].isID { return number(UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))) }
    if terms[0].isScore { return number(ComparableNumber.of(try typed.score(of: id))) }
    if hasNumberPath, numberMayBeNil,
      case .absent = try numberPath.read(in: record, shapes: shapes)
    {
      return number(nil)
    }
    let value = try typed.values(of: terms[0].field, in: record).first?.first ?? .null
    return number(ComparableNumber.of(value, as: terms[0].primitive))
  }

  /// The number of a row from the key of an index; nil if that is not enough.
  func number(of components: KeyComponents, id: UnsafeRawBufferPointer) throws -> UInt64? {
    if terms[0].isID { return number(UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))) }
    guard let place = terms[0].component else { return nil }
    switch try components.component(place) {
    case .cut: return nil
    case .null: return number(nil)
    case .value(let bytes): return number(ComparableNumber.of(terms[0].primitive, key: bytes))
    }
  }

  private func number(_ value: UInt64?) -> UInt64 {
    (value.map { $0 &+ numberShift } ?? 0) ^ numberFlip
  }

  @inline(__always)
  func number(ofID id: UnsafeRawBufferPointer) -> UInt64 {
    let number = UInt64(bigEndian: id.loadUnaligned(as: UInt64.self))
    return idsDescend ? ~number : number
  }

  // MARK: Bytes

  /// Writes the key of a record.
  func write(record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    buffer.removeAll()
    for term in terms {
      let start = buffer.count
      if term.isID {
        append(id: id, term)
      } else if let path = term.path {
        switch try path.read(in: record, shapes: shapes) {
        case .absent where term.isOptional: buffer.append(0)
        case .value(let kind, let bytes) where kind == term.primitive.storedKind:
          if term.isOptional { buffer.append(1) }
          try append(stored: kind, bytes, term)
        default: try append(decoded: record, term)
        }
      } else if term.isScore {
        buffer.append(bigEndian: ComparableNumber.of(try typed.score(of: id)))
      } else if let related = term.related {
        try related.order(typed).append(for: record, id: id, to: &buffer)
      } else {
        try append(decoded: record, term)
      }
      if term.descends { buffer.complement(from: start) }
    }
    append(rowID: id)
  }

  /// Writes the key of a row from the key of an index; false if that is not enough.
  func write(components: KeyComponents, id: UnsafeRawBufferPointer) throws -> Bool {
    buffer.removeAll()
    for term in terms {
      let start = buffer.count
      if term.isID {
        append(id: id, term)
      } else {
        guard let place = term.component else { return false }
        switch try components.component(place) {
        case .cut: return false
        case .null: buffer.append(0)
        case .value(let bytes):
          if term.isOptional { buffer.append(1) }
          if term.primitive.isNumber {
            buffer.append(bigEndian: ComparableNumber.of(term.primitive, key: bytes))
          } else {
            append(bytes: bytes, term, isNormal: true, isFolded: term.isFoldedComponent)
          }
        }
      }
      if term.descends { buffer.complement(from: start) }
    }
    append(rowID: id)
    return true
  }

  /// Writes the key of a token; false if the token is of another order.
  func write(_ token: PageToken) -> Bool {
    buffer.removeAll()
    guard token.values.count == terms.count, !token.id.isEmpty,
      idWidth == nil || token.id.count == idWidth
    else { return false }
    for (term, values) in zip(terms, token.values) {
      let start = buffer.count
      guard append(values, term) else { return false }
      if term.descends { buffer.complement(from: start) }
    }
    token.id.withUnsafeBytes { append(rowID: $0) }
    return true
  }

  /// The token as a pair of numbers, like the rows.
  func numbers(_ token: PageToken) -> (UInt64, UInt64)? {
    guard token.values.count == 1, token.values[0].count == 1, token.id.count == 8 else {
      return nil
    }
    let term = terms[0]
    let id = token.id.withUnsafeBytes { number(ofID: $0) }
    if case .null = token.values[0][0] { return term.isOptional ? (number(nil), id) : nil }
    guard let value = ComparableNumber.of(token.values[0][0], as: term.primitive) else {
      return nil
    }
    return (number(value), id)
  }

  private func append(
    stored kind: FieldKind, _ bytes: UnsafeRawBufferPointer, _ term: Term
  ) throws {
    if term.primitive.isNumber {
      buffer.append(bigEndian: ComparableNumber.of(kind, stored: bytes))
    } else if kind == .decimal {
      guard let digits = DecimalDigits(stored: bytes) else { throw ByteReader.damaged("decimal") }
      digits.withKey { buffer.append($0) }
    } else {
      append(bytes: bytes, term, isNormal: false, isFolded: false)
    }
  }

  private func append(
    bytes: UnsafeRawBufferPointer, _ term: Term, isNormal: Bool, isFolded: Bool
  ) {
    if term.primitive == .uuid || term.primitive == .decimal { return buffer.append(bytes) }
    if term.textForm.isFolded, !isFolded { return append(folding: bytes, term.textForm) }
    let isReady = isNormal || !term.primitive.isText
    buffer.append(terminated: isReady ? bytes : normalized(bytes, &normalizer))
  }

  private func append(folding bytes: UnsafeRawBufferPointer, _ form: TextForm) {
    if let collation = form.collation {
      let keys = collationKeys ?? CollationKeys()
      collationKeys = keys
      return buffer.append(terminated: keys.key(of: bytes, collation))
    }
    if bytes.isASCII { return buffer.append(terminated: bytes, foldsASCII: true) }
    var folded = form.folded(String(decoding: bytes, as: UTF8.self))
    folded.withUTF8 { buffer.append(terminated: UnsafeRawBufferPointer($0)) }
  }

  /// The id as a separate term, from its stored bytes.
  private func append(id: UnsafeRawBufferPointer, _ term: Term) {
    if term.isOptional { buffer.append(1) }
    if term.primitive == .string, id.count >= 1 {
      append(
        bytes: UnsafeRawBufferPointer(rebasing: id[1...]), term, isNormal: true, isFolded: false)
    } else {
      buffer.append(id)
    }
  }

  private func append(decoded record: UnsafeRawBufferPointer, _ term: Term) throws {
    let values = try typed.values(of: term.field, in: record).first ?? [.null]
    guard append(values, term) else {
      throw LarchError(
        .decodingFailed,
        "The stored values of a field do not fit its type; please report this bug with the declaration of the type."
      ) { $0.field = term.field.name }
    }
  }

  private func append(_ values: [KeyValue], _ term: Term) -> Bool {
    var rest = values[...]
    return append(&rest, term.field.form, term) && rest.isEmpty
  }

  private func append(
    _ values: inout ArraySlice<KeyValue>, _ form: KeyForm, _ term: Term
  ) -> Bool {
    switch form.node {
    case .composite(let parts): return parts.allSatisfy { append(&values, $0, term) }
    case .optional(let wrapped):
      if case .null? = values.first {
        values.removeFirst()
        buffer.append(0)
        return true
      }
      buffer.append(1)
      if wrapped.mayBeginWithNil {
        guard case .bool(true)? = values.popFirst() else { return false }
      }
      return append(&values, wrapped, term)
    case .primitive(let primitive):
      guard let value = values.popFirst() else { return false }
      return append(value, primitive, term)
    }
  }

  private func append(
    _ value: KeyValue, _ primitive: KeyForm.Primitive, _ term: Term
  ) -> Bool {
    if let number = ComparableNumber.of(value, as: primitive) {
      buffer.append(bigEndian: number)
      return true
    }
    switch (primitive, value) {
    case (.string, .string(let text)):
      if term.textForm.isFolded {
        var text = text
        text.withUTF8 { append(folding: UnsafeRawBufferPointer($0), term.textForm) }
      } else {
        NFC.normalized(text).withUnsafeBytes { buffer.append(terminated: $0) }
      }
    case (.url, .url(let text)):
      Array(text.utf8).withUnsafeBytes { buffer.append(terminated: $0) }
    case (.data, .data(let bytes)): bytes.withUnsafeBytes { buffer.append(terminated: $0) }
    case (.uuid, .uuid(let bytes)): bytes.withUnsafeBytes { buffer.append($0) }
    case (.decimal, .decimal(let key)): key.bytes.withUnsafeBytes { buffer.append($0) }
    default: return false
    }
    return true
  }

  // MARK: The id of the row

  /// The length of the key without the last id.
  @exclusivity(unchecked) private(set) var countBeforeID = 0

  private func append(rowID id: UnsafeRawBufferPointer) {
    countBeforeID = buffer.count
    if !idsDescend { return buffer.append(id) }
    // Inverting reverses the order only for a fixed length or with an end mark.
    if idWidth == nil { buffer.append(terminated: id) } else { buffer.append(id) }
    buffer.complement(from: countBeforeID)
  }

  /// The id from the end of a key, into `target`.
  func readID(_ bytes: UnsafeRawBufferPointer, into target: inout ByteBuffer) {
    target.removeAll()
    if !idsDescend { return target.append(bytes) }
    if idWidth != nil {
      target.append(bytes)
      return target.complement(from: 0)
    }
    var place = 0
    while place + 2 < bytes.count {
      let byte = ~bytes[place]
      target.append(byte)
      place += byte == 0 ? 2 : 1
    }
  }
}
