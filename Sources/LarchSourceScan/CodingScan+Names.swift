extension CodingScan {
  /// All protocols of a type, as far as they are known.
  struct ConformanceFacts {
    var names: Set<String> = []
    /// Those that it has only under a condition.
    var conditional: Set<String> = []
    var doubts: [String] = []
  }

  func closure(_ reference: TypeReference, _ file: Int, _ scope: [String]) -> Set<String> {
    var facts = ConformanceFacts()
    expand(reference, in: file, scope: scope, &facts)
    return facts.names
  }

  /// Adds what a name in an inheritance clause stands for.
  ///
  /// - Parameter scope: The path of the type that has the clause.
  func expand(
    _ reference: TypeReference, in file: Int, scope: [String], _ facts: inout ConformanceFacts
  ) {
    var open = [(reference, file, scope)]
    var seen: Set<String> = []
    while let (reference, file, scope) = open.popLast() {
      let text = reference.text
      guard seen.insert("\(file) \(text)").inserted else { continue }
      if let doubt = reference.doubt { facts.doubts.append("of \(text), \(doubt)") }
      switch meaning(of: reference.path, in: file, scope: scope) {
      case .known(let name): addKnown(name, &facts)
      case .declared(let at, let type):
        if type.kind == .protocolType { facts.names.insert(type.name) }
        facts.doubts += type.facts.doubts
        if type.isOpaque { facts.doubts.append("the type alias \(text) is not simple") }
        open += type.references.map { ($0, at, Array(type.path.dropLast())) }
      case .unknown(let doubt): facts.doubts.append(doubt)
      }
    }
  }

  private func addKnown(_ name: String, _ facts: inout ConformanceFacts) {
    var open = [name]
    while let name = open.popLast() {
      guard facts.names.insert(name).inserted else { continue }
      open += KnownNames.protocols[name] ?? KnownNames.larchProtocols[name] ?? []
    }
  }

  private enum Meaning {
    case known(String)
    case declared(file: Int, SourceType)
    case unknown(String)
  }

  private func meaning(of path: [String], in file: Int, scope: [String]) -> Meaning {
    var path = path
    guard let last = path.last else { return .unknown("a protocol has no name") }
    let text = path.joined(separator: ".")
    var isQualified = path.count > 1
    if isQualified, declared(path[0]).isEmpty {
      if path[0] == module {
        path.removeFirst()
      } else if path.count == 2, KnownNames.modules.contains(path[0]) {
        return KnownNames.protocols[last] != nil ? .known(last) : foreign(text)
      } else if path.count == 2, path[0] == "Larch" {
        return KnownNames.larchProtocols[last] != nil ? .known(last) : foreign(text)
      } else {
        return foreign(text)
      }
    }
    isQualified = path.count > 1
    let here = declared(last).filter { at, type in
      if isQualified { return true }
      // What is declared in another type is not seen here; but what a protocol declares may be.
      let outer = Array(type.path.dropLast())
      return scope.starts(with: outer) || isProtocol(outer)
    }
    if here.isEmpty { return isQualified ? foreign(text) : library(last, file) }
    guard here.count == 1, !isQualified || here[0].type.path == path else {
      return .unknown("\(text) may be one of \(here.count) types")
    }
    let (at, type) = here[0]
    guard type.kind == .protocolType || type.kind == .alias else {
      return .unknown("\(text) is no protocol")
    }
    guard type.access != .private || at == file else {
      return .unknown("\(text) is private in another file")
    }
    return .declared(file: at, type)
  }

  private func library(_ name: String, _ file: Int) -> Meaning {
    if shadowed.contains(name) {
      return .unknown("\(name) is also declared in a module that the target uses")
    }
    if KnownNames.protocols[name] != nil { return .known(name) }
    guard KnownNames.larchProtocols[name] != nil else { return foreign(name) }
    return seesLarch(file)
      ? .known(name) : .unknown("\(name) is not Larch's in a file that does not import Larch")
  }

  private func foreign(_ name: String) -> Meaning {
    .unknown("\(name) is not a protocol of this target")
  }

  private func declared(_ name: String) -> [(file: Int, type: SourceType)] { types[name] ?? [] }

  private func isProtocol(_ path: [String]) -> Bool {
    declared(path.last ?? "").contains { $0.type.path == path && $0.type.kind == .protocolType }
  }

  private func seesLarch(_ file: Int) -> Bool {
    reexportsLarch || files[file].imports.contains { $0.module == "Larch" }
  }

  // MARK: The import of the generated file

  /// The import with the access that the structs need.
  ///
  /// Imports without a modifier are public, or internal with an upcoming feature of the language. One
  /// with a modifier beside them is an error unless it is public, and one that is more than the
  /// conformances need is a warning. Only public conformances need more than an internal one.
  var importOfLarch: String {
    let hasLimits = files.flatMap(\.imports).contains {
      $0.module == "Larch" && $0.access.map { $0 < .public } == true
    }
    if listed.contains(where: isPublic) { return "public import Larch" }
    return hasLimits ? "internal import Larch" : "import Larch"
  }

  /// Whether other packages see the struct, or their inlined code may.
  private func isPublic(_ item: Listed) -> Bool {
    if item.type.isUsableFromInline { return true }
    return (1...item.type.path.count).allSatisfy { length in
      let path = Array(item.type.path.prefix(length))
      return declared(path.last ?? "").first { $0.type.path == path }?.type.access == .public
    }
  }
}
