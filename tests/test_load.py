"""A simulated server: by hand, by conservation, and by what more load must do."""

from __future__ import annotations

import numpy as np
import pytest

from specviz.load import (
    Loads,
    Policy,
    Request,
    Server,
    Speed,
    arrivals,
    serve,
    under_load,
    waiting,
)
from tests.load_by_hand import ALL_KEPT, NONE_KEPT, NOTHING, load_costs


def test_a_pass_between_what_was_measured() -> None:
    """k = 3 lies a third of the way from 2 to 5, B = 3 half way from 2 to 4; 8 is beyond."""
    measured = load_costs(slope=0.3)
    assert measured.pass_seconds(2, np.array(3.0)) == pytest.approx(1.6)
    assert measured.pass_seconds(3, np.array(1.0)) == pytest.approx(1.5)
    assert measured.pass_seconds(8, np.array(1.0)) == pytest.approx(4.0)
    assert measured.pass_seconds(2, np.array([1.0, 5.0, 6.0])) == pytest.approx([1.0, 2.2, 2.5])


def test_one_cycle_by_hand() -> None:
    """Two users: 4 and 0 of 4 guesses kept. 4 steps of 0.1 s, then T(2, 5) = 2.2 s."""
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, slope=0.3))
    tokens, seconds = server.cycles(np.array([[0, 1]]), Policy(4))
    assert tokens.tolist() == [[5, 1]]
    assert seconds == pytest.approx([0.4 + 2.2])
    # γ = 2: of the first draft 2 are kept.
    tokens, seconds = server.cycles(np.array([[0, 1]]), Policy(2))
    assert tokens.tolist() == [[3, 1]]
    assert seconds == pytest.approx([0.2 + 1.6])
    # Only what is half as good as certain is checked: 4 and 0 guesses, 3 tokens on average.
    tokens, seconds = server.cycles(np.array([[0, 1]]), Policy(4, 0.5))
    assert tokens.tolist() == [[5, 1]]
    assert seconds == pytest.approx([0.4 + 1.6])


def test_a_cycle_without_guesses_costs_a_plain_step() -> None:
    server = Server(load_costs(NOTHING, ALL_KEPT))
    for draft, policy in ((0, Policy(4)), (1, Policy(0))):
        tokens, seconds = server.cycles(np.array([[draft]]), policy)
        assert (tokens.item(), seconds.item()) == (1, 1.0)


def test_constant_load_by_hand() -> None:
    """5 tokens in 1.4 s; with four users each gets them in 4 · 0.1 · 2 + 2 s."""
    server = Server(load_costs())
    assert server.constant_load(1, Policy(4)).per_user == pytest.approx(5 / 1.4)
    four = server.constant_load(4, Policy(4))
    assert four.per_user == pytest.approx(5 / 2.8)
    assert four.total == pytest.approx(20 / 2.8)


@pytest.mark.parametrize("users", [1, 2, 3, 4, 6])
def test_the_load_aware_policy_is_never_below_a_fixed_one(users: int) -> None:
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, NOTHING, slope=1.0))
    best = server.constant_load(users, server.load_aware(users)).total
    for gamma in range(5):
        assert best >= server.constant_load(users, Policy(gamma)).total


def test_the_load_aware_policy_drafts_less_as_the_load_rises() -> None:
    """Guesses are free to check for one user and dear for four."""
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, slope=2.0))
    assert server.load_aware(1).gamma == 4
    assert server.load_aware(4) == Policy(0)


def test_no_token_is_lost_or_made_up() -> None:
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, slope=0.5))
    requests = [Request(0.3 * n, tokens=1 + n % 7) for n in range(40)]
    served = serve(server, requests, lambda _: Policy(4), slots=4)
    assert sorted(one.request.arrives for one in served) == [r.arrives for r in requests]
    assert all(one.tokens == one.request.tokens for one in served)
    assert sum(one.tokens for one in served) == sum(r.tokens for r in requests)
    assert all(one.request.arrives <= one.began < one.ended for one in served)


def test_first_come_first_served_and_never_more_than_the_slots() -> None:
    server = Server(load_costs())
    requests = [Request(0.0, 20) for _ in range(3)]
    served = serve(server, requests, lambda _: Policy(4), slots=1)
    # 20 tokens are 4 cycles of 1.4 s each.
    assert [one.began for one in served] == pytest.approx([0, 5.6, 11.2])
    assert [one.waited for one in served] == pytest.approx([0, 5.6, 11.2])
    seen: list[int] = []

    def choose(active: int) -> Policy:
        seen.append(active)
        return Policy(1)

    serve(server, [Request(0.0, 9) for _ in range(9)], choose, slots=3)
    assert max(seen) == 3


def test_more_requests_wait_longer() -> None:
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, slope=0.2))
    waits = []
    for rate in (0.05, 0.1, 0.2, 0.4, 0.8):
        served = serve(server, arrivals(rate, 300, 16), lambda _: Policy(2), slots=4)
        waits.append(float(np.mean([one.waited for one in served])))
    assert waits == sorted(waits)
    assert waits[-1] > 2 * waits[0]


def test_requests_arrive_at_their_rate() -> None:
    requests = arrivals(2.0, 4000, 8)
    assert requests[-1].arrives == pytest.approx(2000, rel=0.05)
    assert arrivals(2.0, 5, 8) == requests[:5]


def test_where_speculation_begins_to_lose() -> None:
    """5 guesses' worth of checking is free for one user; for two it costs more than it brings."""
    loads = under_load(Server(load_costs(ALL_KEPT, NONE_KEPT, slope=2.0)))
    assert [speed.users for speed in loads.load_aware] == [1, 2, 3, 4]
    assert loads.loses_from(4) == 2
    assert loads.loses_from(0) is None
    assert loads.fixed[4][0].total > loads.fixed[0][0].total


def test_a_loss_that_is_made_good_again_does_not_count() -> None:
    """γ = 2 is slower for two users, faster for three, and slower from four on."""

    def speeds(*totals: float) -> list[Speed]:
        return [
            Speed(users, total / users)
            for users, total in zip((1, 2, 3, 4, 6), totals, strict=False)
        ]

    loads = Loads({0: speeds(1, 1, 1, 1, 1), 2: speeds(2, 0.9, 1.1, 0.8, 0.7)}, [])
    assert loads.loses_from(2) == 4
    assert Loads({0: speeds(1, 1), 2: speeds(2, 2)}, []).loses_from(2) is None


def test_a_simulation_of_one_user_reproduces_what_was_measured() -> None:
    """Recorded cycles of 5, 1 and 1 tokens, in order, against the simulation's own draws.

    Alone: plain 1 s a token; drafted 3 · (0.4 + 1) s for 7 tokens: 1 / 0.6 as fast.
    """
    server = Server(load_costs(ALL_KEPT, NONE_KEPT, NONE_KEPT))
    alone = server.constant_load(1, Policy(4), cycles=30_000).per_user
    plain = server.constant_load(1, Policy(0)).per_user
    assert alone / plain == pytest.approx(7 / (3 * 1.4), rel=0.02)


def test_the_waits_of_a_simulated_queue_rise() -> None:
    points = waiting(Server(load_costs(slope=0.2)), lambda _: Policy(0), (0.3, 0.9, 1.2), count=60)
    waits = [wait for _, wait in points]
    assert waits == sorted(waits)
    # Four users are served 4 tokens in 2 s: at most 2 / 48 answers a second.
    assert points[0][0] == pytest.approx(0.3 * 2 / 48)
