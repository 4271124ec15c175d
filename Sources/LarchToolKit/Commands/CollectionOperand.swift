internal import Larch

extension Operand {
  /// The collection that a command is about.
  static let collection = Operand("COLLECTION", "the collection, by its name in the store")
}

extension StoreInspector {
  /// The collection with this name.
  ///
  /// - Throws: `NoCollection`, which names those that there are.
  func collection(named name: String) throws -> Collection {
    if let found = collections.first(where: { $0.name == name }) { return found }
    throw NoCollection(name, known: collections.map(\.name).sorted())
  }
}

/// A name that no collection of the store has.
struct NoCollection: Error, CustomStringConvertible {
  let description: String

  init(_ name: String, known: [String]) {
    var text = "the store has no collection \(Quoted(name))"
    if let near = Similar.best(for: name, in: known) { text += "; did you mean \(Quoted(near))?" }
    let shown = known.prefix(20).map { Printable.escaped($0) }.joined(separator: ", ")
    let list = known.count > 20 ? shown + ", …" : shown
    description = known.isEmpty ? text + "; it has none" : text + " (collections: \(list))"
  }
}
