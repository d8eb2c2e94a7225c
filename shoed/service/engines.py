"""The engine of a table, from its configuration."""

from firmware_protocols.family import Line
from shoed.engine import Engine
from shoed.ports.address import Rfc2217Address, SerialAddress, parse_address
from shoed.service.config import BetsClosedBy, ShoeConfig, ShufflerConfig, TableConfig
from shoed.session import Session, SessionState, drivers
from shoed.table import Custom, TableSettings
from shoed.watch import WatchSettings


def line_of(of: ShoeConfig | ShufflerConfig) -> Line | None:
    """The line settings of the port; the default of the device family where the port sets none."""
    address, custom = parse_address(of.port), drivers.find(of.protocol).family.line
    return address.line(custom) if isinstance(address, SerialAddress | Rfc2217Address) else custom


def engine_of(table: TableConfig, word: str) -> Engine[SessionState]:
    """The engine of a table. `word` identifies the journal and is a part of every event id."""
    shoe, shuffler = table.shoe, table.shuffler
    line = line_of(shoe)
    return Engine(
        session_of(shoe),
        WatchSettings(
            shoe.min_draw_gap_ms, table.decks, byte_us=0 if line is None else line.seconds_per_byte * 1_000_000
        ),
        TableSettings(
            game=table.game,
            port=shoe.port,
            id_prefix=f"{word}-{table.name}",
            insurance=table.house.insurance,
            custom=Custom(
                bets_close_by_command=table.house.bets_close is BetsClosedBy.COMMAND,
                burn_cards=table.house.burn_cards,
                rounds_after_cut=table.house.rounds_after_cut,
                confirm_void=table.house.confirm_void,
            ),
            decks=table.decks,
            shuffler_port=shuffler.port if shuffler else None,
            after_gap=table.house.after_gap,
            identify=tuple(
                device for device, of in table.devices.items() if drivers.find(of.protocol).family.identifies
            ),
        ),
        session_of(shuffler) if shuffler else None,
    )


def session_of(of: ShoeConfig | ShufflerConfig) -> Session[SessionState]:
    driver, address, settings = drivers.find(of.protocol), parse_address(of.port), of.settings
    if isinstance(address, SerialAddress | Rfc2217Address):
        settings = settings.on(address.line(driver.family.line))
    return driver.session(settings, allow_orders=of.allow_orders)
