/// The fields of records, from the forms that the records have: those of a type, or those in the
/// catalog.
package struct FormFields: Sendable {
  /// The kind of a field in a query.
  package enum Kind: Sendable {
    /// Key values, which orders also know.
    case values(KeyForm.Primitive, isOptional: Bool)
    /// The same for each element of a list.
    case elements(KeyForm.Primitive)
    /// Values of this kind, or of any kind, which only stored records have.
    case other(FieldKind?)
    /// The same for the elements of a list.
    case otherElements
    /// A list in some records and one value in others.
    case mixed
    /// A nested value with fields.
    case record
  }

  /// The forms that records were written in, the oldest first.
  package let versions: [FieldForm]
  /// Whether every record has one of these forms.
  package let isProved: Bool

  /// - Parameter isProved: whether the forms come from the catalog; if not, they are those of some
  ///   records, and only their names can be used.
  package init(versions: [FieldForm], isProved: Bool) {
    self.versions = versions
    self.isProved = isProved
  }

  // MARK: One field

  /// The form at a path in one version.
  private enum Found {
    case form(FieldForm, isOptional: Bool, isInList: Bool)
    /// Any value is possible.
    case open(isInList: Bool)
    case nothing
  }

  /// Nil if no record has such a field.
  package func kind(of names: [String]) -> Kind? {
    var last: (form: FieldForm, isInList: Bool)?
    var isMixed = false
    var isOptional = false
    var isOpen = false
    for version in versions {
      switch FormFields.find(names, in: version) {
      case .form(let form, let mayBeNil, let isInList):
        // Some versions wrote data, and others a list of numbers.
        if let last, last.form.isList != form.isList { isMixed = true }
        last = (form, isInList)
        if mayBeNil { isOptional = true }
      case .open(let isInList):
        isOpen = true
        isOptional = true
        if isInList { last = last ?? (.unknown, true) }
      case .nothing: isOptional = true
      }
    }
    guard let last else { return isOpen ? .other(nil) : nil }
    if isMixed { return .mixed }
    guard isProved, !isOpen else {
      if case .record = last.form, !last.isInList { return .record }
      return last.isInList ? .otherElements : .other(nil)
    }
    switch last.form {
    case .scalar(let kind):
      if last.isInList { return .otherElements }
      return KeyForm.Primitive(storedKind: kind).map { .values($0, isOptional: isOptional) }
        ?? .other(kind)
    case .list(.scalar(let kind)) where !last.isInList:
      return KeyForm.Primitive(storedKind: kind).map { .elements($0) } ?? .otherElements
    case .list: return .otherElements
    case .record, .map: return last.isInList ? .otherElements : .record
    case .unknown: return last.isInList ? .otherElements : .other(nil)
    }
  }

  /// Whether every record of every version has a value there.
  package func isAlwaysPresent(_ names: [String]) -> Bool {
    guard isProved, !versions.isEmpty else { return false }
    return versions.allSatisfy { version in
      if case .form(_, isOptional: false, isInList: false) = FormFields.find(names, in: version) {
        return true
      }
      return false
    }
  }

  private static func find(_ names: [String], in version: FieldForm) -> Found {
    var form = version
    var isOptional = false
    var isInList = false
    var rest = names[...]
    while let name = rest.first {
      switch form {
      case .record(let record):
        rest = rest.dropFirst()
        guard let field = record.field(name) else {
          return record.isComplete ? .nothing : .open(isInList: isInList)
        }
        form = field.form
        if field.isOptional { isOptional = true }
      case .map(let value):
        rest = rest.dropFirst()
        form = value
        isOptional = true
      case .list(let element):
        guard !isInList else { return .open(isInList: true) }
        form = element
        isInList = true
      case .unknown: return .open(isInList: isInList)
      case .scalar: return .nothing
      }
    }
    return .form(form, isOptional: isOptional, isInList: isInList)
  }

  // MARK: All fields

  /// The maximum depth of listed fields.
  private static let depthLimit = 4
  /// The maximum number of listed fields.
  private static let countLimit = 1_000

  /// The paths of all fields that have names, those of the record first.
  package var paths: [[String]] {
    var paths: [[String]] = []
    var seen: Set<[String]> = []
    var level: [([String], FieldForm)] = versions.map { ([], $0) }
    for _ in 0..<FormFields.depthLimit {
      var next: [([String], FieldForm)] = []
      for (path, form) in level {
        guard let record = form.elementRecord else { continue }
        for field in record.fields where paths.count < FormFields.countLimit {
          let inner = path + [field.name]
          if seen.insert(inner).inserted { paths.append(inner) }
          next.append((inner, field.form))
        }
      }
      level = next
    }
    return paths
  }
}

extension FormFields {
  /// The error for a name that no record has.
  package func unknown(_ name: QueryText.Name) -> QueryTextError {
    var known = paths.map { $0.joined(separator: ".") }
    if !known.contains("id") { known.insert("id", at: 0) }
    var message = "there is no field \(QueryTextError.shown(name.text))"
    if let near = SimilarName.best(for: name.text, among: known) {
      message += "; did you mean \(QueryTextError.shown(near))?"
    }
    return QueryTextError(name.column, message + QueryTextError.listed(known))
  }

  /// The fields of a nested value.
  package func fields(in names: [String]) -> [String] {
    paths.filter { $0.count == names.count + 1 && $0.starts(with: names) }
      .map { $0.joined(separator: ".") }
  }
}

extension FieldForm {
  fileprivate var isList: Bool {
    if case .list = self { return true }
    return false
  }

  /// The fields of the record, or of each record in the list.
  fileprivate var elementRecord: RecordForm? {
    switch self {
    case .record(let record): record
    case .list(.record(let record)): record
    case .unknown, .scalar, .list, .map: nil
    }
  }
}

extension KeyForm.Primitive {
  /// The type whose values are stored as this kind; nil for kinds that keys do not have.
  package init?(storedKind kind: FieldKind) {
    guard let found = Self.allCases.first(where: { $0.storedKind == kind }) else { return nil }
    self = found
  }
}
