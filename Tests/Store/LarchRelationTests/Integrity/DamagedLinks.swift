import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Changes the lists of one association without the store.
struct DamagedLinks {
  let store: Store
  let key: String

  /// The handles of the lists and of the records of both ends.
  private func lists() throws -> StoredLists {
    let all = try StoredLists.all(in: store.environment) { _, _ in }
    guard let found = all.first(where: { $0.stored.key == key }) else {
      throw LarchError(.recordNotFound, "No such lists.") { $0.detail = key }
    }
    return found
  }

  func add(_ first: [UInt8], _ second: [UInt8]) throws {
    try change(first, second, isForward: true, isRemoval: false)
    try change(first, second, isForward: false, isRemoval: false)
  }

  func change(
    _ first: [UInt8], _ second: [UInt8], isForward: Bool, isRemoval: Bool
  ) throws {
    let lists = try lists()
    let database = isForward ? lists.databases.forward : lists.databases.inverse
    let key = isForward ? first : second
    let value = isForward ? second : first
    try store.environment.write { transaction in
      try key.withUnsafeBytes { key in
        try value.withUnsafeBytes { value in
          if isRemoval {
            _ = try database.delete(key, value: value, in: transaction)
          } else {
            _ = try database.put(key, value, in: transaction)
          }
        }
      }
    }
  }

  /// The pairs of one direction, first end first.
  func pairs(isForward: Bool) throws -> [[String]] {
    let lists = try lists()
    let (database, _, from, to) = lists.direction(isForward: isForward)
    return try store.environment.write { transaction in
      var found: [[String]] = []
      var cursor = try LMDBCursor(database, in: transaction)
      var entry = try cursor.first()
      while let here = entry {
        let pair = [from.text(of: here.key), to.text(of: here.value)]
        found.append(isForward ? pair : pair.reversed())
        entry = try cursor.next()
      }
      return found
    }
  }
}

/// The key of a record.
func bytes<ID: RecordIdentifier>(of id: ID) throws -> [UInt8] {
  var writer = KeyWriter()
  try id._writeID(to: &writer)
  return [UInt8](writer.bytes)
}

extension Store {
  /// Removes a record without its index entries, links and references.
  func lose<R: Record>(_ type: R.Type, _ id: R.ID) throws {
    let records = try read { tx throws in try tx.context.collection(of: type).records }
    let key = try bytes(of: id)
    try environment.write { transaction in
      _ = try key.withUnsafeBytes { try records.delete($0, in: transaction) }
    }
  }

  /// The faults of a verification, one on each line.
  func faults() throws -> [String] { try proof().faults.map(\.description) }
}
