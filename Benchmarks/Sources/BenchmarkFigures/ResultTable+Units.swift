/// Tables whose rows are ratios to different peers, each to the first that runs the operation, and are
/// judged by a peer that Larch must not be slower than.
extension ResultTable {
  var isOfUnits: Bool { summary.rows.contains { $0.unitPeer != nil } }

  /// The codings of Larch that were run.
  var judgedPeers: [String] {
    summary.peers.filter { peer in summary.rows.contains { $0.toSlowest[peer] != nil } }
  }

  private var nameWidth: Int { 2 + (summary.rows.map(\.name.count).max() ?? 0) }

  func unitHeader() -> String {
    var text = "op".padded(to: nameWidth) + "per".padded(to: 8) + "unit".aligned(to: 20)
    for peer in others { text += "\(peer) x".aligned(to: 10) }
    for peer in judgedPeers { text += "\(peer)/peer".aligned(to: 14) }
    return text + "  verdict"
  }

  func unitLine(_ row: RunSummary.Row) -> String {
    var text = row.name.padded(to: nameWidth) + row.unit.padded(to: 8)
    let unit = row.figures[row.ratioPeer].map { "\(row.ratioPeer) \(measured($0, row.unit))" }
    text += (unit ?? "–").aligned(to: 20)
    for peer in others { text += (row.ratios[peer].map { decimal($0, 2) } ?? "–").aligned(to: 10) }
    for peer in judgedPeers {
      text += (row.toSlowest[peer].map { decimal($0, 2) } ?? "–").aligned(to: 14)
    }
    let mark = mark(row)
    return mark.isEmpty ? text : text + "  " + mark
  }

  /// How many rows keep their limit and reach their aim, for each coding; nothing where no row is judged
  /// by a peer.
  var standings: [String] {
    judgedPeers.compactMap { peer in
      let verdicts = summary.rows.compactMap { row -> RunSummary.Verdict? in
        guard case .slowest = row.limit else { return nil }
        return row.verdict(of: peer, row.limit)
      }
      guard !verdicts.isEmpty else { return nil }
      let reached = verdicts.count { $0 == .reachesAim }
      let kept = reached + verdicts.count { $0 == .holds }
      return
        "\(peer): \(kept) of \(verdicts.count) rows keep their limit, \(reached) reach their aim"
    }
  }
}
