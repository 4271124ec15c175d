import Foundation
import Larch

// A dashboard that follows a store while another process writes to it.
//
//   Dashboard                 starts such a process, follows it, checks what it shows, and ends
//   Dashboard shop.larch      follows a store until it is stopped
//   Dashboard shop.larch 500  writes 500 orders

let arguments = CommandLine.arguments
let isShown = isatty(STDOUT_FILENO) != 0

func show(_ now: Observed<Summary>) {
  // Clears the terminal.
  if isShown { print("\u{1B}[2J\u{1B}[H", terminator: "") }
  print("version \(now.version)\n\(now.value.text)")
}

/// Shows each new summary, until it is the last one.
func follow(_ store: Store, until isLast: @Sendable (Summary) -> Bool) async throws -> Int {
  var shown = 0
  for try await now in store.observe(every: .milliseconds(50), { tx in try Summary(tx) }) {
    show(now)
    shown += 1
    if isLast(now.value) { break }
  }
  return shown
}

func runBoth() async throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shop-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let path = folder.appendingPathComponent("shop.larch").path
  let store = try Store(at: path, for: Order.self)
  defer { store.close() }

  let writer = Process()
  writer.executableURL = URL(fileURLWithPath: arguments[0])
  writer.arguments = [path, "300"]
  try writer.run()
  let shown = try await follow(store) { $0.counts == [.new: 100, .paid: 100, .sent: 100] }
  writer.waitUntilExit()

  // (2 + 3 + 5 + 6 + … + 299 + 300) whole units.
  let income = (1...300).filter { $0 % 3 != 1 }.reduce(0, +) * 100
  let last = try store.read { tx in try Summary(tx) }
  guard writer.terminationStatus == 0, last.income == income, shown > 1 else {
    print("wrong: \(shown) summaries, income \(last.income) instead of \(income)")
    exit(1)
  }
}

switch arguments.count {
case 1: try await runBoth()
case 2:
  let store = try Store(at: arguments[1], for: Order.self)
  _ = try await follow(store) { _ in false }
default:
  let store = try Store(at: arguments[1], for: Order.self)
  try await writeOrders(store, count: Int(arguments[2]) ?? 0)
}
