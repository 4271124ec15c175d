import LarchToolKit

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

exit(Tool.run(Array(CommandLine.arguments.dropFirst()), on: Console.standard()).rawValue)
