import Foundation
import FuzzSupport

@testable import Larch

// The first byte chooses a kind of catalog entry, and the rest are the entry. An entry that can be
// read and is written again has the same meaning; any other gives a typed error.

/// The entry with a correct checksum. Without one, no random input would be accepted.
private func sealed(_ value: UnsafeRawBufferPointer, key: [UInt8]) -> [UInt8] {
  var checksum = Checksum()
  key.withUnsafeBytes { checksum.add($0) }
  checksum.add(value)
  return value + withUnsafeBytes(of: checksum.value.littleEndian) { [UInt8]($0) }
}

private func expectOurs(_ error: any Error) {
  precondition(error is LarchError, "an error that is not typed: \(error)")
}

private func check(collection bytes: UnsafeRawBufferPointer) throws {
  let collection = try StoredCollection(decoding: bytes)
  let again = collection.encoded()
  let same = try again.withUnsafeBytes { try StoredCollection(decoding: $0) }
  precondition(same == collection, "a collection is not what was written")
  for index in collection.indexes {
    if let form = KeyForm(String(index.definition.prefix { $0 != ";" })) { check(form) }
  }
  // Two steps from a seed that is a whole collection: one byte each, in the same input.
  if hasPlantedBug {
    let odd = collection.indexes.contains { $0.isUnique && $0.state == .building }
    precondition(!odd, "a unique index that is being built")
  }
}

/// The first byte says how long the key is.
private func check(association bytes: UnsafeRawBufferPointer) throws {
  guard let length = bytes.first, Int(length) < bytes.count else { return }
  let key = CatalogStorage.Key.associationPrefix + bytes[1..<(1 + Int(length))]
  let value = UnsafeRawBufferPointer(rebasing: bytes[(1 + Int(length))...])
  let association = try key.withUnsafeBytes { try CatalogStorage.association($0, value) }
  let again = association.encoded()
  let same = try key.withUnsafeBytes { key in
    try again.withUnsafeBytes { try CatalogStorage.association(key, $0) }
  }
  precondition(same == association, "an association is not what was written")
  precondition(association.firstRule != .automatic, "a rule that is left open")
  precondition((association.kind == .links) == (association.number != 0), "a number of nothing")
}

private func check(_ form: KeyForm) {
  precondition(KeyForm(form.description) == form, "a form is not what its text says")
}

private struct Node: Record {
  var id: Int
  var otherID: Int?
  static let schema = Schema<Node> {
    BelongsTo(\.otherID, to: Node.self)
    ManyToMany(Node.self, named: "n")
  }
}

/// A small sound store, and a place for its damaged copies.
private struct Template {
  let bytes: [UInt8]
  let path: String

  init() throws {
    let store = try Store.temporary(for: Node.self)
    try store.write { tx throws in
      for number in 0..<4 {
        var node = Node(id: number, otherID: number > 0 ? 0 : nil)
        try tx.save(&node)
      }
    }
    let lists = try StoredLists.all(in: store.environment) { _, _ in }
    for list in lists {
      try store.environment.write { transaction in
        for number in UInt8(0)..<4 {
          let id: [UInt8] = [0x80, 0, 0, 0, 0, 0, 0, number]
          try id.withUnsafeBytes { id in
            _ = try list.databases.forward.put(id, id, in: transaction)
            _ = try list.databases.inverse.put(id, id, in: transaction)
          }
        }
      }
    }
    bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: store.path)))
    path = store.path + "-damaged"
    store.close()
  }

  /// The input changes bytes of the file: offsets of 16 bits and new values. A refusal must be a
  /// typed error, and the check must end on any file.
  func check(_ changes: UnsafeRawBufferPointer) throws {
    var damaged = bytes
    var place = 0
    while place + 3 <= changes.count {
      let offset = Int(changes.loadUnaligned(fromByteOffset: place, as: UInt16.self))
      damaged[offset % damaged.count] = changes[place + 2]
      place += 3
    }
    // The last byte left over cuts the file.
    if place < changes.count { damaged.removeLast(Int(changes[place]) * 16 % damaged.count) }
    try Data(damaged).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    do {
      try FileCheck.checkHeader(path: path)
    } catch {
      expectOurs(error)
    }
    _ = try FileCheck.verify(path: path)
  }
}

private let template = try Template()

private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let bytes = UnsafeRawBufferPointer(rebasing: input.dropFirst())
  do {
    // New cases are added at the end, so that seeds keep their meaning.
    switch choice < 240 ? choice % 6 : choice < 242 ? choice - 233 : 6 {
    case 0: try check(collection: bytes)
    case 1:
      let format = try StoredFormat(decoding: bytes)
      let same = try format.encoded().withUnsafeBytes { try StoredFormat(decoding: $0) }
      precondition(same == format, "a format is not what was written")
    case 2: if let form = KeyForm(String(decoding: bytes, as: UTF8.self)) { check(form) }
    case 3:
      let key = Array("collection/a".utf8)
      try sealed(bytes, key: key).withUnsafeBytes { stored in
        try key.withUnsafeBytes { key in
          try check(collection: try CatalogStorage.checked(stored, key: key))
        }
      }
    case 4: try template.check(bytes)
    case 6: try check(association: bytes)
    case 7:
      let history = try FieldHistory(decoding: bytes)
      let same = try history.encoded().withUnsafeBytes { try FieldHistory(decoding: $0) }
      precondition(same == history, "declarations are not what was written")
      var evolution = FieldEvolution(aliases: FieldAliases(), defaults: [])
      for version in history.versions {
        evolution.compare(stored: version, declared: history.versions[0])
      }
    case 8:
      let migration = try AppliedMigration(name: "m", decoding: bytes)
      precondition(migration.encoded().elementsEqual(bytes), "a migration is not what was written")
    default:
      let half = bytes.count / 2
      _ = try CatalogStorage.checked(
        UnsafeRawBufferPointer(rebasing: bytes[..<half]),
        key: UnsafeRawBufferPointer(rebasing: bytes[half...]))
    }
  } catch {
    expectOurs(error)
  }
}

exit(fuzz { check($0) })
