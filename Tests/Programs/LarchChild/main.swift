internal import Foundation

// Tests start this program for work that a test process would not survive. The first argument is
// the name of a subcommand, and each subcommand has its own file.
let arguments = CommandLine.arguments.dropFirst()
do {
  switch arguments.first {
  case "open-damaged": try openDamaged(Array(arguments.dropFirst()))
  case "make-template": try makeTemplate(Array(arguments.dropFirst()))
  case "check-valid": try checkValid(Array(arguments.dropFirst()))
  case "make-store": try makeStore(Array(arguments.dropFirst()))
  case "open-store": try openStore(Array(arguments.dropFirst()))
  case "verify-speed": try verifySpeed(Array(arguments.dropFirst()))
  case "verify-live": try verifyLive(Array(arguments.dropFirst()))
  case "crash-writer": try crashWriter(Array(arguments.dropFirst()))
  case "crash-reader": try crashReader(Array(arguments.dropFirst()))
  case "build-indexes": try buildIndexes(Array(arguments.dropFirst()))
  case "migrate-books": try migrateBooks(Array(arguments.dropFirst()))
  case "rebuild-indexes": try rebuildIndexes(Array(arguments.dropFirst()))
  case "power-record": try powerRecord(Array(arguments.dropFirst()))
  case "power-replay": try powerReplay(Array(arguments.dropFirst()))
  case "recorder-check": try recorderCheck(Array(arguments.dropFirst()))
  case "create-stores": try createStores(Array(arguments.dropFirst()))
  case "salvage-stores": try salvageStores(Array(arguments.dropFirst()))
  case "file-limit": try fileLimit(Array(arguments.dropFirst()))
  case "limited-build": try limitedBuild(Array(arguments.dropFirst()))
  case "full-disk": try fullDisk(Array(arguments.dropFirst()))
  case "resources": try resources(Array(arguments.dropFirst()))
  case "reader-slots": try readerSlots(Array(arguments.dropFirst()))
  case "stream-queries": try streamQueries(Array(arguments.dropFirst()))
  case "stream-json": try streamJSON(Array(arguments.dropFirst()))
  case "bank-writer": try bankWriter(Array(arguments.dropFirst()))
  case "space-work": try spaceWork(Array(arguments.dropFirst()))
  case "space-limit": try spaceLimit(Array(arguments.dropFirst()))
  case "bank-reader": try bankReader(Array(arguments.dropFirst()))
  case "numbered-writers": try numberedWriters(Array(arguments.dropFirst()))
  case "stress": try stress(Array(arguments.dropFirst()))
  case "teller": try teller(Array(arguments.dropFirst()))
  case "die-in-read": try dieInRead(Array(arguments.dropFirst()))
  case "faults": try faults(Array(arguments.dropFirst()))
  case "fault-peer": try faultPeer(Array(arguments.dropFirst()))
  case "named-teller": try namedTeller(Array(arguments.dropFirst()))
  case "read-as": try readAs(Array(arguments.dropFirst()))
  case "version-writer": try versionWriter(Array(arguments.dropFirst()))
  case "owned-writer": try ownedWriter(Array(arguments.dropFirst()))
  case "undone-id": try undoneID(Array(arguments.dropFirst()))
  default:
    FileHandle.standardError.write(Data("unknown subcommand\n".utf8))
    exit(64)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
