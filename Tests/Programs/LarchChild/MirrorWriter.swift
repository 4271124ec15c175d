internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchPostgres
internal import LarchTestSupport

/// `mirror-writer <store> <beacon> <writer> <seed> <server> <name>`: as `crash-writer`, in a store that
/// ships its commits to a server.
func mirrorWriter(_ arguments: [String]) throws {
  guard arguments.count == 6, let writer = Int(arguments[2]), let seed = UInt64(arguments[3])
  else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  let store = try Store.forCrashes(
    at: arguments[0], mirror: .postgres(arguments[4], store: arguments[5]))
  var ids: [Int: RecordID<Item>] = [:]
  var model = try store.read { tx throws in
    for item in try tx.all(Item.self) where item.owner == writer { ids[item.serial] = item.id }
    return try WriterModel.read(writer, seed: seed, in: tx)
  }
  beacon[.started(writer)] = Int(getpid())
  while true {
    try model.write(to: store, ids: &ids)
    beacon[.acknowledged(writer)] = model.progress.transactions
  }
}
