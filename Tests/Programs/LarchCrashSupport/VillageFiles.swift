/// The files of the processes that share a store.
package struct VillageFiles: Sendable {
  package let directory: String

  package init(directory: String) { self.directory = directory }

  package var beacon: String { directory + "/beacon" }
  package func ledger(_ number: Int) -> String { directory + "/ledger-\(number)" }
  package func copy(_ number: Int) -> String { directory + "/copy-\(number).larch" }
}

/// The numbers in the beacon beside those of all children, who have 0 to 3.
package enum VillageSlot {
  /// Set once all processes have opened their copies, so that they race from the first write.
  package static let mayBegin = Beacon.Slot.started(50)
  /// Set for the end.
  package static let mustStop = Beacon.Slot.acknowledged(50)

  package static func reads(_ number: Int) -> Beacon.Slot { .started(10 + number) }
  package static func readErrors(_ number: Int) -> Beacon.Slot { .acknowledged(10 + number) }
  /// How often the process has made its copy again.
  package static func copiedAnew(_ number: Int) -> Beacon.Slot { .attempted(10 + number) }
}
