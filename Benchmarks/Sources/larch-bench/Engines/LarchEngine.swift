#if !LARCH_STORE
  // Nothing to compare yet.
  var larchPeers: [any Engine.Type] { [] }
  var larchCodingPeers: [any CodingPeer.Type] { [] }
#endif
