// The calls of five older libraries, each beside what does the same in Larch: a file for a library,
// with the old call in a comment. Every answer is checked; a wrong one ends the program with 1.

do {
  try PersistableSeed.run()
  try IActiveRecordSeed.run()
  try OCActiveObjectsSeed.run()
  try SQLitePersistentObjectsSeed.run()
  try await MagicalRecordSeed.run()
  print("seeds: \(Check.count) answers are right")
} catch {
  Check.stop("\(error)")
}
