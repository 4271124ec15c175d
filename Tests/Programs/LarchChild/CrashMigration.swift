internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `migrate-books <store> <beacon> <number>`: opens the books with the migrations of the new version
/// and so runs what is missing; the beacon counts how often a migration began to rewrite.
func migrateBooks(_ arguments: [String]) throws {
  guard arguments.count == 3, let number = Int(arguments[2]) else { throw UsageError() }
  limitLifetime()
  let beacon = try Beacon(path: arguments[1])
  var options = Store.Options()
  options.indexBatchSize = 100
  options.migrationProgress = { progress in
    if progress.done == 0 { beacon[.acknowledged(number)] += 1 }
  }
  beacon[.started(number)] = Int(getpid())
  let store = try Store(
    at: arguments[0], for: IndexedBook.self, migrations: BookMigrations.all, options: options)
  store.close()
}
