internal import Foundation

/// Finds the stored field that a key path reads, exactly or not at all.
///
/// A key path knows its property by offset or by accessor, the record knows its fields by coding
/// name. Two sources connect them: the offset of a stored property looked up in the type's layout,
/// and the key path's description (SE-0369) for optional chains and final classes, each of its
/// components checked against the layout. Computed properties, observed ones (`didSet`), wrapped
/// and lazy ones have accessors, so neither source names them, and their hidden storage is never
/// taken for them.
enum FieldNaming {
  enum Resolution: Sendable, Equatable {
    /// The path reads a stored property, which its type writes under these names.
    ///
    /// Synthesised coding does this; a hand-written `encode(to:)` may write another value under the
    /// same key, which only an encoded value can show.
    case stored(codingNames: [String], propertyNames: [String])
    /// The value cannot be read from the record; the name is present if the property has one.
    case computed(printableName: String?)
  }

  static func storedPath<Root: Codable, Value>(of keyPath: KeyPath<Root, Value>) -> Resolution {
    if let known = cache.find(keyPath) { return known }
    let resolution = resolve(keyPath)
    cache.insert(keyPath, resolution)
    return resolution
  }

  private static func resolve<Root: Codable, Value>(
    _ keyPath: KeyPath<Root, Value>
  ) -> Resolution {
    var path: [Reflection.Field]?
    if let offset = MemoryLayout<Root>.offset(of: keyPath) {
      path = TypeLayout(ofStruct: Root.self)?.path(toOffset: offset, leaf: Value.self)
    } else {
      path = KeyPathDescription(keyPath, isLeaf: isLeaf)?.fields()
    }
    guard let path, !path.isEmpty else { return .computed(printableName: nil) }
    let propertyNames = path.map(\.name)
    guard let codingNames = codingNames(of: path, in: Root.self) else {
      let isPrintable = propertyNames.allSatisfy { !$0.hasPrefix("_") && !$0.hasPrefix("$") }
      return .computed(printableName: isPrintable ? propertyNames.joined(separator: ".") : nil)
    }
    return .stored(codingNames: codingNames, propertyNames: propertyNames)
  }

  private static func codingNames(
    of path: [Reflection.Field], in root: any Decodable.Type
  ) -> [String]? {
    var names: [String] = []
    var owner = root
    for (index, field) in path.enumerated() {
      guard !isLeaf(owner), let keys = TypeProbe.keys(of: owner),
        let name = keys.codingName(ofProperty: field.name)
      else { return nil }
      names.append(name)
      guard index < path.count - 1 else { break }
      guard let next = Reflection.unwrapped(field.type) as? any Decodable.Type else { return nil }
      owner = next
    }
    return names
  }

  /// The standard types that a record holds as one value, whatever their own stored properties.
  static func isLeaf(_ type: Any.Type) -> Bool {
    type == Date.self || type == UUID.self || type == Data.self || type == Decimal.self
      || type == URL.self || type == String.self
  }

  private static let cache = Cache()
}

extension FieldNaming {
  /// Resolutions by key path. A literal is one object for the whole process, so it is found by its
  /// address first; key paths built at run time are found by equality.
  private final class Cache: Sendable {
    /// Key paths are immutable, and only their identity, hash and equality are used here.
    private struct Entry: @unchecked Sendable {
      let keyPath: AnyKeyPath
      let resolution: Resolution
    }
    private struct Entries: @unchecked Sendable {
      /// Retains the object, so that its address is not reused.
      var byIdentity: [ObjectIdentifier: Entry] = [:]
      var byValue: [AnyKeyPath: Resolution] = [:]
    }

    /// Key paths with run-time arguments (`\.tags[i]`) must not fill the memory.
    private static let limit = 4096
    private let entries = Locked(Entries())

    func find(_ keyPath: AnyKeyPath) -> Resolution? {
      let identity = ObjectIdentifier(keyPath)
      let known = entries.withLock { $0.byIdentity[identity]?.resolution }
      if let known { return known }
      let lookup = Entry(keyPath: keyPath, resolution: .computed(printableName: nil))
      return entries.withLock { $0.byValue[lookup.keyPath] }
    }

    func insert(_ keyPath: AnyKeyPath, _ resolution: Resolution) {
      let entry = Entry(keyPath: keyPath, resolution: resolution)
      entries.withLock { entries in
        if entries.byIdentity.count < Self.limit {
          entries.byIdentity[ObjectIdentifier(entry.keyPath)] = entry
        }
        if entries.byValue.count < Self.limit {
          entries.byValue[entry.keyPath] = entry.resolution
        }
      }
    }
  }
}
