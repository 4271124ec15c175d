internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `version-writer <store> <count>`: makes this number of commits, and as many writes that change
/// nothing.
func versionWriter(_ arguments: [String]) throws {
  guard arguments.count == 2, let count = Int(arguments[1]) else { throw UsageError() }
  limitLifetime()
  let store = try SharedBank.open(at: arguments[0])
  defer { store.close() }
  for _ in 0..<count {
    let before = try store.version
    try store.write { tx throws in
      guard var account = try tx.find(Account.self, 1) else { throw Mismatch("no account") }
      account.balance += 1
      try tx.update(account)
    }
    let after = try store.version
    guard after > before else { throw Mismatch("\(before), then \(after)") }
    try store.write { _ in }
    guard try store.version == after else { throw Mismatch("nothing was changed") }
  }
}
