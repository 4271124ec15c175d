import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A value of a field of a version.
private enum Content: Equatable {
  case number(Int)
  case text(String)
}

/// The declaration of the varying field in a version of the type.
private struct Declared {
  var name: String
  var isText = false
  var isOptional = false
  var older: [String] = []
  /// The empty value of a field that is not optional.
  var byDefault: Content?

  /// Whether it can read values of another declaration; nil for one without the field.
  func reads(_ stored: Declared?) -> Bool {
    let isEasy = isOptional || byDefault != nil
    guard let stored, ([name] + older).contains(stored.name) else { return isEasy }
    return stored.isText == isText && (!stored.isOptional || isEasy)
  }
}

private protocol Version: Record, Equatable where ID == Int {
  static var declared: Declared? { get }
  var content: Content? { get }
  init(id: Int, a: Int, content: Content?)
  var a: Int { get }
}

extension Content {
  fileprivate var number: Int? { if case .number(let number) = self { number } else { nil } }
  fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}

private struct Required: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "c")
  static let schema = Schema<Required> { Index(\.a) }
  var id: Int
  var a: Int
  var c: Int
  var content: Content? { .number(c) }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    c = content?.number ?? 0
  }
}

private struct Without: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = nil
  var id: Int
  var a: Int
  var content: Content? { nil }
  init(id: Int, a: Int, content: Content?) { (self.id, self.a) = (id, a) }
}

private struct Possible: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "c", isOptional: true)
  static let schema = Schema<Possible> { Index(\.c) }
  var id: Int
  var a: Int
  var c: Int?
  var content: Content? { c.map { .number($0) } }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    c = content?.number
  }
}

private struct Defaulted: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "c", byDefault: .number(7))
  static let schema = Schema<Defaulted> { Default(\.c, 7) }
  var id: Int
  var a: Int
  var c: Int
  var content: Content? { .number(c) }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    c = content?.number ?? 0
  }
}

private struct Text: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "c", isText: true, isOptional: true)
  var id: Int
  var a: Int
  var c: String?
  var content: Content? { c.map { .text($0) } }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    c = content?.text
  }
}

private struct Moved: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "d", isOptional: true, older: ["c"])
  static let schema = Schema<Moved> {
    Renamed(\.d, from: "c")
    Index(\.d)
  }
  var id: Int
  var a: Int
  var d: Int?
  var content: Content? { d.map { .number($0) } }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    d = content?.number
  }
}

private struct MovedRequired: Version {
  static let collectionName = "Thing"
  static let declared: Declared? = Declared(name: "d")
  var id: Int
  var a: Int
  var d: Int
  var content: Content? { .number(d) }
  init(id: Int, a: Int, content: Content?) {
    (self.id, self.a) = (id, a)
    d = content?.number ?? 0
  }
}

/// Random openings and writes by versions of a type, in any order, against a model of what is
/// stored. A version is refused exactly if it cannot read the records of a version that wrote. A
/// version that is let in reads the records of the model.
@Suite struct RandomOpeningsTests {
  private struct Stored {
    var a: Int
    /// The name of the field, and its value; nil where the record has none.
    var field: (name: String, value: Content)?

    func content(as declared: Declared?) -> Content? {
      guard let declared else { return nil }
      if let field, ([declared.name] + declared.older).contains(field.name) { return field.value }
      return declared.byDefault
    }
  }

  private struct Model {
    var records: [Int: Stored] = [:]
    /// The versions that have written since the collection was empty.
    var written: [any Version.Type] = []
    /// The versions that only opened the file.
    var opened: [any Version.Type] = []
    var accepted = 0
    var refused = 0

    func knows(_ type: any Version.Type) -> Bool {
      (written + opened).contains { $0 == type }
    }

    func isReadable(by type: any Version.Type) -> Bool {
      written.allSatisfy { reads(type, $0) }
    }

    func reads(_ type: any Version.Type, _ stored: any Version.Type) -> Bool {
      stored == type || type.declared?.reads(stored.declared) ?? true
    }

    func all<V: Version>(_ type: V.Type) -> [V] {
      records.sorted { $0.key < $1.key }.map { id, stored in
        V(id: id, a: stored.a, content: stored.content(as: V.declared))
      }
    }
  }

  private static let versions: [any Version.Type] = [
    Required.self, Without.self, Possible.self, Defaulted.self, Text.self, Moved.self,
    MovedRequired.self,
  ]

  @Test(arguments: 1...12) func `A version is let in exactly if it can read everything`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var accepted = 0
    var refused = 0
    for _ in 0..<6 {
      let file = try EvolutionFile()
      var model = Model()
      for _ in 0..<16 {
        guard let type = RandomOpeningsTests.versions.randomElement(using: &random) else { return }
        try visit(type, file, &model, &random)
      }
      accepted += model.accepted
      refused += model.refused
    }
    // Both happen, otherwise the test means nothing.
    #expect(accepted > 10 && refused > 10)
  }

  private func visit<V: Version>(
    _ type: V.Type, _ file: EvolutionFile, _ model: inout Model,
    _ random: inout SeededGenerator
  ) throws {
    let isReadable = model.isReadable(by: type)
    if model.records.isEmpty, !isReadable || !model.knows(type) {
      // A program that is still open with one of the others may go on.
      model.opened = (model.written + model.opened).filter { model.reads(type, $0) } + [type]
      model.written = []
    } else if !isReadable {
      #expect(file.refusal(type)?.code == .schemaMismatch, "\(type) after \(model.written)")
      model.refused += 1
      return
    } else if !model.knows(type) {
      model.opened.append(type)
    }
    model.accepted += 1
    let store = try Store(path: file.path, types: [type], options: .quick, isTemporary: false)
    defer { store.close() }
    try expect(store, model, type)
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      try work(store, &model, type, &random)
      try expect(store, model, type)
    }
    try store.expectSound()
  }

  private func expect<V: Version>(_ store: Store, _ model: Model, _ type: V.Type) throws {
    #expect(try store.all(V.self) == model.all(V.self))
  }

  private struct Stop: Error {}

  /// One transaction, which may be undone, as a whole or in part.
  private func work<V: Version>(
    _ store: Store, _ model: inout Model, _ type: V.Type, _ random: inout SeededGenerator
  ) throws {
    var changed = model
    let isUndone = Int.random(in: 0..<4, using: &random) == 0
    do {
      try store.write { tx throws in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          var inner = changed
          if Int.random(in: 0..<3, using: &random) == 0 {
            let isInnerUndone = Bool.random(using: &random)
            do {
              try tx.savepoint {
                try step(tx, &inner, type, &random)
                if isInnerUndone { throw Stop() }
              }
            } catch is Stop { continue }
          } else {
            try step(tx, &inner, type, &random)
          }
          changed = inner
        }
        if isUndone { throw Stop() }
      }
      model = changed
    } catch is Stop {}
  }

  private func step<V: Version>(
    _ tx: WriteTransaction, _ model: inout Model, _ type: V.Type,
    _ random: inout SeededGenerator
  ) throws {
    let id = Int.random(in: 1...4, using: &random)
    if Int.random(in: 0..<3, using: &random) == 0 {
      _ = try tx.delete(V.self, id)
      model.records[id] = nil
      return
    }
    var content: Content?
    if let declared = V.declared, !declared.isOptional || Bool.random(using: &random) {
      let number = Int.random(in: 0..<3, using: &random)
      content = declared.isText ? .text("\(number)") : .number(number)
    }
    var record = V(id: id, a: Int.random(in: 0..<3, using: &random), content: content)
    try tx.save(&record)
    // A save of an unchanged record writes nothing.
    if let stored = model.records[id], stored.a == record.a,
      stored.content(as: V.declared) == content
    {
      return
    }
    var field: (name: String, value: Content)?
    if let content, let name = V.declared?.name { field = (name, content) }
    model.records[id] = Stored(a: record.a, field: field)
    if !model.written.contains(where: { $0 == type }) { model.written.append(type) }
    model.opened.removeAll { $0 == type }
  }
}
