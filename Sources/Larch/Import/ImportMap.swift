/// How the elements of an import become records of a type: where each property comes from, which
/// nested objects are records of their own, and what code runs.
///
/// ```swift
/// let map = ImportMap<Person> {
///   Mapped(\.name, from: "full_name")
///   Mapped(\.city, from: "address.town", "city")
///   Mapped(\.birthday, from: "born", date: .format("yyyy-MM-dd"))
///   Linked(Person.company, from: "employer", by: \.name)
/// }
/// try store.importJSON(Person.self, from: .file("people.json"), map: map, matching: \.email)
/// ```
///
/// A property with a line takes its value only from the keys of this line. Every other property has
/// its own key, as in an import without a map.
///
/// A map is checked when the import begins, before any element is read. A wrong line, for example one
/// of a computed property, throws `.invalidImportMap`.
public struct ImportMap<R: Record>: Sendable {
  /// An object, so that a map that contains itself is recognized.
  let lines: MapLines<R>

  /// A map of the lines in the closure.
  ///
  /// - Complexity: that of its lines. The checks are made at each import.
  public init(@ImportMapBuilder<R> _ lines: () -> [any ImportMapEntry<R>]) {
    self.lines = MapLines(lines())
  }
}

/// The lines of a map, by kind.
final class MapLines<R: Record>: Sendable {
  typealias WillRead = @Sendable (inout JSONValue) throws -> Void
  typealias DidSave = @Sendable (R, JSONValue, WriteTransaction) throws -> Void

  let fields: [MappedField<R>]
  let links: [LinkedLine<R>]
  let willImport: [WillRead]
  let didImport: [DidSave]

  init(_ entries: [any ImportMapEntry<R>]) {
    var fields: [MappedField<R>] = []
    var links: [LinkedLine<R>] = []
    var willImport: [WillRead] = []
    var didImport: [DidSave] = []
    for entry in entries {
      switch ImportMapElement(entry) {
      case .field(let field): fields.append(field)
      case .link(let link): links.append(link)
      case .willImport(let body): willImport.append(body)
      case .didImport(let body): didImport.append(body)
      }
    }
    self.fields = fields
    self.links = links
    self.willImport = willImport
    self.didImport = didImport
  }
}

/// A line of an ``ImportMap``: ``Mapped``, ``Linked``, ``WillImport`` or ``DidImport``. Only these
/// types conform.
public protocol ImportMapEntry<R>: Sendable {
  /// The type of the map.
  associatedtype R: Record
}

/// A line of a map that Larch knows.
protocol ImportMapLine<R>: ImportMapEntry {
  /// The declaration.
  var element: ImportMapElement<R> { get }
}

/// The declaration in one line of a map.
enum ImportMapElement<R: Record>: Sendable {
  case field(MappedField<R>)
  case link(LinkedLine<R>)
  case willImport(MapLines<R>.WillRead)
  case didImport(MapLines<R>.DidSave)

  init(_ entry: any ImportMapEntry<R>) {
    guard let line = entry as? any ImportMapLine<R> else {
      // The program conformed a type that only Larch may conform.
      preconditionFailure("\(type(of: entry)) is no line of a map; see ImportMapEntry.")
    }
    self = line.element
  }
}

/// Collects the lines of a map. The compiler calls it for the lines that you write.
@resultBuilder
public enum ImportMapBuilder<R: Record> {
  /// A line of the map.
  public static func buildExpression(_ entry: any ImportMapEntry<R>) -> [any ImportMapEntry<R>] {
    [entry]
  }

  /// All lines together.
  public static func buildBlock(_ lines: [any ImportMapEntry<R>]...) -> [any ImportMapEntry<R>] {
    lines.flatMap { $0 }
  }

  /// Lines in an `if`.
  public static func buildOptional(
    _ lines: [any ImportMapEntry<R>]?
  ) -> [any ImportMapEntry<R>] {
    lines ?? []
  }

  /// Lines of the first branch of an `if`.
  public static func buildEither(first lines: [any ImportMapEntry<R>]) -> [any ImportMapEntry<R>] {
    lines
  }

  /// Lines of the second branch of an `if`.
  public static func buildEither(
    second lines: [any ImportMapEntry<R>]
  ) -> [any ImportMapEntry<R>] {
    lines
  }

  /// Lines of a loop.
  public static func buildArray(_ lines: [[any ImportMapEntry<R>]]) -> [any ImportMapEntry<R>] {
    lines.flatMap { $0 }
  }
}

// MARK: - Fields

/// A line of an ``ImportMap``: the keys from which a property takes its value.
///
/// ```swift
/// Mapped(\.name, from: "full_name")
/// Mapped(\.city, from: "address.town", "city")
/// Mapped(\.phone, from: "phones.0.number")
/// Mapped(\.age, from: "age", coercing: true)
/// Mapped(\.role, from: "role", default: "guest")
/// ```
///
/// A dot leads into an object, and a number into a list. A dot that belongs to a key is written
/// `\\.`. Of several keys the first with a value other than null is used; if all of them are null, the
/// value is null. ``ImportReport/unusedKeys`` counts the others that have a value.
public struct Mapped<R: Record>: ImportMapEntry, ImportMapLine {
  let element: ImportMapElement<R>

  /// Declares the keys of a property.
  ///
  /// - Parameters:
  ///   - field: a stored property of the record itself, not of a nested value.
  ///   - keys: one or more keys, or paths to them.
  ///   - default: the value for new records whose element has none of the keys. It replaces the
  ///     `Default` of the schema.
  ///   - date: the form of a date. Without it, the decoder of the import reads the date.
  ///   - coercing: whether a text may stand for a number, a number for a text, and a text, 0 or 1
  ///     for a `Bool`. ``ImportReport/coercedKeys`` counts such values.
  /// - Complexity: a comparison of each key of an element, and a copy of the bytes of its value. A
  ///   date in a ``ImportDate/format(_:locale:timeZone:)`` costs some microseconds.
  public init<Value: Codable & Sendable>(
    _ field: any KeyPath<R, Value> & Sendable, from keys: String..., default: Value? = nil,
    date: ImportDate? = nil, coercing: Bool = false
  ) {
    element = .field(
      MappedField(
        resolve: { FieldNaming.storedPath(of: field) }, keys: keys, value: Value.self,
        defaultValue: `default`, date: date, coerces: coercing))
  }
}

/// A line of a property, before it is checked.
struct MappedField<R: Record>: Sendable {
  let resolve: @Sendable () -> FieldNaming.Resolution
  let keys: [String]
  let value: any Any.Type
  let defaultValue: (any Sendable)?
  let date: ImportDate?
  let coerces: Bool
}

// MARK: - Hooks

/// A line of an ``ImportMap``: code that runs before an element is read. It may change the element,
/// or leave it out.
///
/// ```swift
/// WillImport { person in
///   if person["deleted"] == true { throw ImportSkip("deleted at the source") }
///   person["name"] = person["name"] ?? person["login"]
/// }
/// ```
///
/// An element that is left out is no failure: ``ImportReport/omissions`` has its place and the
/// reason. Any other error is a failure of the element. The closure may run more than once for an
/// element, if its batch must be repeated.
///
/// It costs the conversion of the whole element to a ``JSONValue`` and back.
public struct WillImport<R: Record>: ImportMapEntry, ImportMapLine {
  let element: ImportMapElement<R>

  /// Declares the hook.
  public init(_ body: @escaping @Sendable (_ element: inout JSONValue) throws -> Void) {
    element = .willImport(body)
  }
}

/// A line of an ``ImportMap``: code that runs after the record of an element is saved and linked, in
/// the same transaction.
///
/// ```swift
/// DidImport { person, element, tx in
///   var note = Note(text: "imported", personID: person.id)
///   try tx.save(&note)
/// }
/// ```
///
/// It also runs for a record that did not change. `person` is the record as it was saved, and
/// `element` is what the ``WillImport`` lines made of the element. An error undoes what the import
/// of this element did; an ``ImportSkip`` does that too, and is no failure. Code that must run before
/// the save is a ``WillImport`` line, or a ``WillSave`` hook of the type.
///
/// It costs the conversion of the element to a ``JSONValue``, and a savepoint for each element.
public struct DidImport<R: Record>: ImportMapEntry, ImportMapLine {
  let element: ImportMapElement<R>

  /// Declares the hook.
  public init(
    _ body:
      @escaping @Sendable (
        _ record: R, _ element: JSONValue, _ tx: WriteTransaction
      ) throws -> Void
  ) {
    element = .didImport(body)
  }
}

/// Thrown by a hook of an ``ImportMap`` to leave an element out, which is no failure.
public struct ImportSkip: Error, Sendable {
  /// Why the element is left out.
  public let reason: String

  /// Leaves the element out for this reason, which the report repeats.
  public init(_ reason: String) { self.reason = reason }
}

extension LarchError.Code {
  /// A line of an ``ImportMap`` is wrong.
  public static let invalidImportMap = Self(rawValue: "invalid_import_map")
}
