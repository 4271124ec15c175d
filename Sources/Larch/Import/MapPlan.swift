internal import Foundation

/// What the plans of one import share.
final class MapSession {
  let options: ImportOptions
  /// Whether the changes of an element that fails are undone, while the import goes on.
  let undoesElements: Bool
  private var plans: [ObjectIdentifier: AnyObject] = [:]
  /// The elements whose records wait for linked objects, outermost first.
  var open: [AnyOpenElement] = []
  /// The keys that lead to the linked object that is being saved.
  var keys: [String] = []
  /// How many linked objects are inside each other.
  var depth = 0
  /// How many maps that are being checked are inside each other.
  private var planned = 0
  /// Larger nests could use up the stack of a thread.
  static let depthLimit = 32

  init(_ options: ImportOptions, undoesElements: Bool) {
    self.options = options
    self.undoesElements = undoesElements
  }

  /// The plan of a map, or of none. A map that contains itself has one plan.
  func plan<R: Record>(_ map: ImportMap<R>?, _ tx: ReadTransaction) throws -> MapPlan<R> {
    let key = map.map { ObjectIdentifier($0.lines) } ?? ObjectIdentifier(R.self)
    if let known = plans[key] as? MapPlan<R> { return known }
    planned += 1
    defer { planned -= 1 }
    guard planned <= MapSession.depthLimit * 2 else {
      throw MapPlan<R>.error(
        "An import map contains maps without an end; keep a map that contains itself in a `static let`, so that it is one map.",
        nil)
    }
    let plan = try MapPlan(map?.lines ?? MapLines<R>([]), self)
    plans[key] = plan
    try plan.planLinks(tx)
    return plan
  }
}

/// A map that was checked against its type: how each element becomes the JSON that the decoder of the
/// type reads.
final class MapPlan<R: Record> {
  enum Conversion {
    case none
    case coerced(CoercedKind)
    case date(DateReader, isCoerced: Bool)
  }

  struct Field {
    /// The key of the property in the JSON of the type, and quoted with its colon.
    let name: String
    let quoted: [UInt8]
    let keys: [MapKey]
    let conversion: Conversion

    var isConverted: Bool {
      if case .none = conversion { return false }
      return true
    }
  }

  let lines: MapLines<R>
  let decoder: ElementDecoder<R>
  let session: MapSession
  private(set) var fields: [Field] = []
  private(set) var links: [(keys: [MapKey], link: MapLink<R>)] = []
  let root = MapKey("", path: "")
  private(set) var slotKeys: [MapKey] = []
  private var taken: Set<String> = []
  private let usesKeyStrategy: Bool
  private var names: [String: String] = [:]

  // Scratch of one mapping.
  var found: [Range<Int>?] = []
  var isUsed: [Bool] = []

  init(_ lines: MapLines<R>, _ session: MapSession) throws {
    self.lines = lines
    self.session = session
    decoder = ElementDecoder(session.options)
    usesKeyStrategy = decoder.usesKeyStrategy
    if decoder.readsJSON5 {
      throw MapPlan.error(
        "An import with a map reads plain JSON; use a decoder without `allowsJSON5`.", nil)
    }
    for field in lines.fields { fields.append(try plan(field)) }
  }

  /// Whether an element needs more than its own record.
  var needsStore: Bool { !links.isEmpty || !lines.didImport.isEmpty }

  // MARK: Planning

  private func plan(_ field: MappedField<R>) throws -> Field {
    guard case .stored(let path, _) = field.resolve(), path.count == 1 else {
      throw MapPlan.error(
        "A line of an import map names a property that is computed or inside another value; name a stored property of the record itself, and change other values in `WillImport`.",
        field.keys.joined(separator: " or "))
    }
    let name = path[0]
    try take(name)
    let conversion = try conversion(of: field, name)
    if let value = field.defaultValue, (value as? any OptionalType)?.isNil != true {
      decoder.setDefault(value, for: name)
    }
    var quoted: [UInt8] = []
    JSONValue.write(name, to: &quoted)
    quoted.append(UInt8(ascii: ":"))
    return Field(
      name: name, quoted: quoted, keys: try keys(field.keys, name), conversion: conversion)
  }

  private func conversion(of field: MappedField<R>, _ name: String) throws -> Conversion {
    if let date = field.date {
      guard Reflection.unwrapped(field.value) == Date.self else {
        throw MapPlan.error(
          "A line of an import map has the form of a date, but its property is no `Date`; remove the form.",
          name)
      }
      let reader = DateReader(date)
      guard reader.canReadWhatItWrites else {
        throw MapPlan.error(
          "A line of an import map has a date format that cannot be read back; see the patterns of Unicode, such as `yyyy-MM-dd HH:mm`.",
          "\(name), \(reader.text)")
      }
      return .date(reader, isCoerced: field.coerces)
    }
    guard field.coerces else { return .none }
    guard let kind = CoercedKind(field.value) else {
      throw MapPlan.error(
        "A line of an import map coerces the values of a property that is no number, text or `Bool`; remove `coercing`.",
        name)
    }
    return .coerced(kind)
  }

  func planLinks(_ tx: ReadTransaction) throws {
    decoder.take(listsOf: try tx.context.collection(of: R.self))
    for line in lines.links {
      let link = try line.plan(session, tx)
      if let name = link.name { try take(name) }
      links.append((try keys(line.keys, link.name), link))
    }
    noteOwnKeys()
  }

  /// Two lines cannot give one property its value.
  private func take(_ name: String) throws {
    guard taken.insert(name).inserted else {
      throw MapPlan.error(
        "Two lines of an import map give one property its value; remove one, and name all keys in the other.",
        name)
    }
    // The decoder must find the name that the map writes.
    guard decoder.name(ofKey: name) == name else {
      throw MapPlan.error(
        "The decoder of the import changes the key of a property that the map names; use a decoder without a key strategy.",
        name)
    }
  }

  private func keys(_ paths: [String], _ name: String?) throws -> [MapKey] {
    guard !paths.isEmpty else {
      throw MapPlan.error("A line of an import map has no key; name one.", name)
    }
    return try paths.map { path in
      guard let steps = MapKey.steps(of: path) else {
        throw MapPlan.error(
          "A path of an import map has an empty step; write keys with single dots between them, and `\\\\.` for a dot inside a key.",
          path)
      }
      let key = steps.reduce(root) { $0.child($1) }
      if key.slot == nil {
        key.slot = slotKeys.count
        slotKeys.append(key)
        found.append(nil)
        isUsed.append(false)
      }
      return key
    }
  }

  /// Enters the keys of the properties, so that one search finds what a key of an element is.
  private func noteOwnKeys() {
    let properties = TypeProbe.keys(of: R.self)?.cases.map(\.codingName) ?? []
    for name in properties where !usesKeyStrategy {
      if taken.contains(name) {
        root.child(name).isHidden = true
      } else {
        root.child(name).isOwn = true
      }
    }
    for name in taken where !usesKeyStrategy { root.child(name).isHidden = true }
    if usesKeyStrategy { ownNames = Set(properties).subtracting(taken) }
  }

  private var ownNames: Set<String> = []

  // MARK: Keys

  /// What the type does with a key that is not, or not only, the beginning of a path.
  enum Role { case own, hidden, other }

  @inline(__always)
  func role(of known: MapKey?, _ key: @autoclosure () throws -> String) rethrows -> Role {
    if usesKeyStrategy { return role(ofConverted: try key()) }
    guard let known else { return .other }
    return known.isHidden ? .hidden : known.isOwn ? .own : .other
  }

  private func role(ofConverted key: String) -> Role {
    let name = names[key] ?? decoder.name(ofKey: key)
    // The keys of a dictionary must not fill the memory.
    if names.count < 4096 { names[key] = name }
    return taken.contains(name) ? .hidden : ownNames.contains(name) ? .own : .other
  }

  /// The keys from which a field takes its value, as the map has them. Without a line it is the key of
  /// the property; nil for what is no property.
  func key(ofField field: String?) -> String? {
    guard let field else { return nil }
    let end = field.firstIndex { $0 == "." || $0 == "[" } ?? field.endIndex
    let name = String(field[..<end])
    let keys =
      fields.first { $0.name == name }?.keys ?? links.first { $0.link.name == name }?.keys
    guard let keys else {
      let isOwn = usesKeyStrategy ? ownNames.contains(name) : root.isOwn(name)
      return isOwn ? field : nil
    }
    return keys.map(\.path).joined(separator: " or ") + field[end...]
  }

  /// Runs `body` for an element, and adds the key of the source to an error that has a field.
  func keyed<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as LarchError {
      let field = error.validationErrors.first?.field ?? error.context.field
      guard let key = key(ofField: field) else { throw error }
      throw KeyedError(key: key, error: error)
    }
  }

  // MARK: Errors

  static func error(_ message: StaticString, _ field: String?) -> LarchError {
    LarchError(.invalidImportMap, message) {
      $0.collection = R.collectionName
      $0.field = field
    }
  }
}
