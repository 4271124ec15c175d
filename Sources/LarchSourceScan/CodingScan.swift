/// Which structs of a target have a `Codable` that is the compiler's in both directions.
///
/// Sources have names only, so a name is looked up as the compiler would do it, and one that may mean
/// two things, or something of another module, is a doubt. In doubt a struct is passed over.
package struct CodingScan {
  /// A struct that becomes `MemberwiseCoded`.
  struct Listed {
    var type: SourceType
    var file: String
  }

  /// A `Codable` struct that does not, and why.
  package struct Passed {
    package var name: String
    package var file: String
    package var line: Int
    package var reason: String
  }

  private(set) var listed: [Listed] = []
  package private(set) var passed: [Passed] = []
  /// Structs with a protocol that may be `Codable`, but is not known here.
  package private(set) var unknown: [Passed] = []

  package var listedNames: [String] { listed.map { $0.type.path.joined(separator: ".") } }

  let module: String
  let files: [SourceFile]
  /// All declared types by their last name, with the number of their file.
  private(set) var types: [String: [(file: Int, type: SourceType)]] = [:]
  /// The extensions that may be of a type with this last name.
  private var extensions: [String: [(file: Int, it: SourceExtension)]] = [:]
  /// Names of Swift or Larch that a module that the target uses declares too.
  private(set) var shadowed: Set<String> = []
  private(set) var reexportsLarch = false

  /// - Parameters:
  ///   - files: All files of the target.
  ///   - others: The files of other targets that this one uses, as far as their sources are here.
  package init(module: String, files: [SourceFile], others: [SourceFile] = []) {
    self.module = module
    self.files = files
    index(others)
    let general = doubtOfAll(others)
    for (number, file) in files.enumerated() {
      for type in file.types where type.kind == .structure {
        judge(type, number, general)
      }
    }
  }

  private mutating func index(_ others: [SourceFile]) {
    for (number, file) in files.enumerated() {
      for type in file.types where !type.isLocal {
        types[type.name, default: []].append((number, type))
      }
      if file.imports.contains(where: { $0.module == "Larch" && $0.isExported }) {
        reexportsLarch = true
      }
    }
    for (number, file) in files.enumerated() {
      for it in file.extensions {
        for name in names(it.path) { extensions[name, default: []].append((number, it)) }
      }
    }
    for file in others {
      for type in file.types where type.path.count == 1 && type.access != .private {
        shadowed.insert(type.name)
      }
      // Of types of this target they know nothing; of protocols that are known here they may.
      for var it in file.extensions {
        guard let name = it.path.last, known(name) != nil else { continue }
        it.facts.coding.removeAll { $0.access < .package }
        extensions[name, default: []].append((-1, it))
      }
    }
  }

  private func known(_ name: String) -> [String]? {
    KnownNames.protocols[name] ?? KnownNames.larchProtocols[name]
  }

  /// The last name of a path, and what it may be an alias of.
  private func names(_ path: [String]) -> Set<String> {
    guard let last = path.last else { return [] }
    var all: Set<String> = []
    var open = [last]
    while let name = open.popLast() {
      guard all.insert(name).inserted else { continue }
      for (_, type) in types[name] ?? [] where type.kind == .alias {
        open += type.references.compactMap(\.path.last)
      }
    }
    return all
  }

  // MARK: Doubts of everything

  /// Why nothing can be said of any struct.
  private func doubtOfAll(_ others: [SourceFile]) -> String? {
    for file in files {
      if let failure = file.failure { return "a source is not understood: \(failure)" }
    }
    for (number, file) in (files + others).enumerated() {
      for it in file.extensions where extendsContainer(it) {
        // What another module keeps for itself is not called here.
        let seen = number < files.count ? SourceAccess.private : .package
        if let function = it.facts.containerFunctions.first(where: { $0.access >= seen })?.text {
          return "\(file.name) extends \(it.path.joined(separator: ".")) by \(function),"
            + " which may replace what synthesised code calls"
        }
        if let doubt = it.facts.doubts.first {
          return "\(file.name):\(it.line) extends \(it.path.joined(separator: ".")), and \(doubt)"
        }
        if !it.references.isEmpty {
          return "\(file.name):\(it.line) makes \(it.path.joined(separator: ".")) conform to"
            + " \(it.references[0].text)"
        }
      }
    }
    return nil
  }

  private func extendsContainer(_ it: SourceExtension) -> Bool {
    !names(it.path).isDisjoint(with: KnownNames.containers)
      && !(types[it.path.last ?? ""] ?? []).contains {
        $0.type.path == it.path && $0.type.kind != .alias
      }
  }

  // MARK: One struct

  private mutating func judge(_ type: SourceType, _ file: Int, _ general: String?) {
    var facts = ConformanceFacts()
    for reference in type.references { expand(reference, in: file, scope: type.path, &facts) }
    let applied = type.isLocal ? [] : applicable(to: type)
    for (other, it) in applied {
      for reference in it.references {
        expand(reference, in: other, scope: type.path, &facts)
        if it.isConstrained || it.isConditional || it.hasAvailability {
          facts.conditional.formUnion(closure(reference, other, type.path))
        }
      }
    }
    let isCodable = facts.names.contains("Encodable") && facts.names.contains("Decodable")
    let name = type.path.joined(separator: ".")
    let source = files[file].name
    func passed(_ reason: String) -> Passed {
      Passed(name: name, file: source, line: type.line, reason: reason)
    }
    guard isCodable else {
      if let doubt = facts.doubts.first { unknown.append(passed(doubt)) }
      return
    }
    // Not passed over: its promise, or its refusal, is written.
    if facts.names.contains("MemberwiseCoded") || facts.names.contains("CustomCoded") { return }
    if let reason = handWritten(type, applied) ?? doubt(type, file, applied, facts) ?? general {
      self.passed.append(passed(reason))
    } else {
      listed.append(Listed(type: type, file: files[file].name))
    }
  }

  /// The extensions of a type: those of its path, and those that may mean it.
  private func applicable(to type: SourceType) -> [(file: Int, it: SourceExtension)] {
    (extensions[type.name] ?? []).filter { file, it in
      if file < 0 { return false }
      if own(it.path) == type.path { return true }
      // One that is certainly another type's is not counted.
      let path = own(it.path)
      return !(types[path.last ?? ""] ?? []).contains {
        $0.type.path == path && $0.type.kind != .alias
      }
    }
  }

  /// A path without the name of the target's module in front.
  private func own(_ path: [String]) -> [String] {
    path.count > 1 && path[0] == module && types[module] == nil ? Array(path.dropFirst()) : path
  }

  private func handWritten(
    _ type: SourceType, _ applied: [(file: Int, it: SourceExtension)]
  ) -> String? {
    if let member = type.facts.coding.first(where: isWitness) {
      return "its \(member.name) is written in line \(member.line)"
    }
    for (file, it) in applied {
      if let member = it.facts.coding.first(where: isWitness) {
        return "its \(member.name) is written in \(files[file].name):\(member.line)"
      }
    }
    return nil
  }

  /// Whether a member can be what the protocol asks for, by the type of its parameter.
  private func isWitness(_ member: CodingMember) -> Bool {
    guard let parameter = member.parameter else { return true }
    let declared = types[parameter] ?? []
    if declared.isEmpty { return !KnownNames.plainTypes.contains(parameter) }
    // One that is declared in another type only, or private, is not certainly the one that is meant.
    return !declared.contains { $0.type.path.count == 1 && $0.type.access > .private }
      || declared.contains { $0.type.kind == .alias || $0.type.kind == .protocolType }
  }

  private func doubt(
    _ type: SourceType, _ file: Int, _ applied: [(file: Int, it: SourceExtension)],
    _ facts: ConformanceFacts
  ) -> String? {
    if type.isLocal { return "it is declared in a function or a closure; \(advice(type))" }
    if type.access == .private {
      return "it is private, so that another file cannot extend it; \(advice(type))"
    }
    if let outer = doubtOfOuter(type) { return outer }
    let same = (types[type.name] ?? []).filter { $0.type.path == type.path }
    if same.count > 1 { return "there are \(same.count) types of its name" }
    if let doubt = type.facts.doubts.first { return doubt }
    if let doubt = facts.doubts.first { return doubt }
    for (file, it) in applied {
      if let doubt = it.facts.doubts.first { return "\(doubt) (\(files[file].name):\(it.line))" }
    }
    if facts.conditional.contains("Encodable") || facts.conditional.contains("Decodable") {
      return "it is Codable under a condition"
    }
    for name in facts.names.sorted() {
      for (file, it) in extensions[name] ?? [] {
        let place = file < 0 ? "another module" : "\(files[file].name):\(it.line)"
        if let member = it.facts.coding.first(where: isWitness) {
          return "an extension of \(name) in \(place) has an \(member.name)"
        }
        if let doubt = it.facts.doubts.first {
          return "\(name) is extended in \(place), and \(doubt)"
        }
      }
    }
    return nil
  }

  private func advice(_ type: SourceType) -> String {
    type.isLocal
      ? "name MemberwiseCoded among its protocols"
      : "add `extension \(type.spelling): MemberwiseCoded {}` to its file"
  }

  private func doubtOfOuter(_ type: SourceType) -> String? {
    guard type.path.count > 1 else { return nil }
    for length in 1..<type.path.count {
      let path = Array(type.path.prefix(length))
      let outer = (types[path.last ?? ""] ?? []).filter { $0.type.path == path }
      let name = path.joined(separator: ".")
      guard outer.count == 1, [.structure, .other].contains(outer[0].type.kind) else {
        return "it is declared in \(name), which is not one type of this target"
      }
      if outer[0].type.access == .private {
        return "it is declared in \(name), which is private; \(advice(type))"
      }
    }
    return nil
  }
}
