"""The real daemon with devices of other families; the tests hold their bytes and share no code with shoed."""

from pathlib import Path

from tests.foreign_shoe import PtyShoe, TcpShoe
from tests.scanner_line import scan
from tests.world import World


async def test_a_table_runs_with_a_bee_tek_shoe(world: World, tmp_path: Path) -> None:
    """A pty carries two rounds without hands; each card is sent twice, one card is burnt, and one line is unknown."""
    async with PtyShoe(tmp_path / "tty") as shoe:
        path = world.configure(shoe, protocol="bee-tek", shoe_settings="repeat_window_ms = 1000")
        daemon = await world.launch(path)
        await daemon.ready()
        await world.recorder.event("device.online")
        await shoe.send(b"[Manual Burn Cards]<Card:KC>\r\n[Result]<Banker>\r\n")
        for card in (b"8S", b"3H", b"JD", b"4C", b"QS", b"TH", b"7D", b"9H"):
            await shoe.send(b"[Game]<Card:%s>\r\n" % card * 2)
        await world.recorder.event("round.completed", round=2)
        await world.all_published()
        assert await daemon.stop() == 0
    first, second = world.recorder.of("round.completed")
    assert (first["player"]["cards"], first["banker"]["cards"]) == (["8S", "JD"], ["3H", "4C"])
    assert (second["player"]["cards"], second["banker"]["cards"]) == (["QS", "7D"], ["10H", "9H"])
    assert [(each["card"], each["reason"]) for each in world.recorder.of("card.set-aside")] == [("KC", "burn")]
    assert len(world.recorder.of("line.rejected")) == 1


async def test_a_table_runs_with_a_barcode_scanner(world: World) -> None:
    """TCP carries a round by the codes of the site, and an unknown code, which suspends the next round."""
    codes = {"8S": "0408", "3H": "0203", "JD": "0311", "4C": "0104"}
    table = "".join(f'"{code}" = "{card}"\n' for card, code in codes.items())
    async with TcpShoe() as scanner:
        path = world.configure(scanner, protocol="scanner", shoe_settings=f"[table.shoe.cards]\n{table}")
        daemon = await world.launch(path)
        await daemon.ready()
        await scanner.connected()
        for card in ("8S", "3H", "JD", "4C"):
            await scanner.send(scan(codes[card]))
        first = await world.recorder.event("round.completed")
        await scanner.send(scan("9999"))
        suspended = await world.recorder.event("round.suspended", round=2)
        await world.all_published()
        assert scanner.heard == b""
        assert await daemon.stop() == 0
    assert (first["player"]["cards"], first["banker"]["cards"]) == (["8S", "JD"], ["3H", "4C"])
    assert suspended["seen"]["card"] is None
