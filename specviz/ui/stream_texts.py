"""Every text of the token stream, by the key that its JavaScript asks for.

`{…}` is filled in the browser. A key with `.one` and `.other` is chosen by the number; a language
with more plural forms adds `.few`, `.many`, ….
"""

from __future__ import annotations

from specviz.ui.texts import _


def stream_texts() -> dict[str, str]:
    """The texts in the reader's language."""
    return {
        # Translators: the code of the language you translate to, as in <html lang="…">.
        "language": _("en"),
        **_frame(),
        **_states(),
        **_controls(),
        **_numbers(),
        **_tokens(),
        **_dice(),
        **_charts(),
    }


def _frame() -> dict[str, str]:
    return {
        "title": _("The run, token by token"),
        "close": _("Close"),
        "stop": _("Stop"),
        "retry": _("Try again now"),
        "milliseconds": _("{value}\u00a0ms"),
        "below": _("<{value}"),
        "above": _(">{value}"),
        "at_most": _("≤{value}"),
        "lane.speculative": _("Speculative"),
        "lane.plain": _("Plain"),
        "lane.speculative.tokens": _("Tokens of speculative decoding"),
        "lane.plain.tokens": _("Tokens of plain decoding"),
        "lane.speculative.facts": _("{target}, drafted by {drafter}, {gamma}"),
        "gamma.fixed": _("γ = {gamma}"),
        "gamma.auto": _("γ up to {gamma}, as it pays"),
        "gamma.schedule": _("γ from {gamma} on, by schedule"),
        "gamma.confidence": _("γ up to {gamma}, while sure"),
        "lane.plain.facts": _("{target} alone"),
        "agreement.identical.one": _(
            "The two texts are identical, token for token ({count} token)."
        ),
        "agreement.identical.other": _(
            "The two texts are identical, token for token ({count} tokens)."
        ),
        "agreement.prefix.one": _("The two texts are the same as far as both go: {count} token."),
        "agreement.prefix.other": _(
            "The two texts are the same as far as both go: {count} tokens."
        ),
        "agreement.parted": _(
            "The two texts part at token {number}: {speculative} in the speculative one,"
            " {plain} in the plain one."
        ),
        "agreement.best": _(
            "There the target’s two best were {first} ({p}) and {second} ({q}): {apart} apart."
        ),
        "agreement.sampled": _(
            "The two texts are two draws from the same distribution: they need not be alike."
        ),
    }


def _states() -> dict[str, str]:
    return {
        "status.waiting": _("Connecting"),
        "status.queued": _("Waiting: next in turn"),
        "status.queued.one": _("Waiting: {count} more before this one"),
        "status.queued.other": _("Waiting: {count} more before this one"),
        "status.loading": _("Loading the model"),
        "status.running": _("Running"),
        "status.reconnecting": _("Connection lost: reconnecting"),
        "status.gone": _("The server does not answer"),
        "status.unknown": _("Unknown run"),
        "status.failed": _("The run failed"),
        "status.finished": _("Finished"),
        "status.finished.end_of_text": _("Finished: the text came to its end"),
        "status.finished.stop_string": _("Finished: a stop string was reached"),
        "status.finished.length": _("Finished: the length asked for was reached"),
        "status.finished.context_full": _("Finished: the model’s context is full"),
        "status.finished.cancelled": _("Stopped"),
        "empty.waiting": _("Connecting to the run…"),
        "empty.queued": _("The run starts as soon as the one before it has ended."),
        "empty.loading": _("The model is being loaded. The first time this takes a while."),
        "empty.reconnecting": _("Connecting to the run again…"),
        "empty.running": _("The target is reading the prompt…"),
        "notice.gone": _("The server does not answer. It is tried again every few seconds."),
        "notice.gone.kept": _(
            "The server does not answer. What has arrived is kept: you can step through it and"
            " play it again. The server is tried again every few seconds."
        ),
        "notice.unknown": _("The server knows no such run. Start it again."),
        "notice.unknown.kept": _(
            "The server no longer knows this run; it may have been restarted. What has arrived"
            " is kept: you can step through it and play it again."
        ),
        "summary.tokens.one": _("{count} token."),
        "summary.tokens.other": _("{count} tokens."),
    }


def _controls() -> dict[str, str]:
    return {
        "controls": _("Playback"),
        "control.play": _("Play (Space)"),
        "control.pause": _("Pause (Space)"),
        "control.back": _("One step back (←)"),
        "control.forward": _("One step on (→)"),
        "control.start": _("To the start (Home)"),
        "control.end": _("To the end (End)"),
        "control.scrub": _("Position in the run"),
        "control.speed": _("Speed"),
        "speed.live": _("Live"),
        "speed.times": _("{times}×"),
        "position": _("cycle {cycle} of {cycles} · token {token}"),
        "position.start": _("at the start"),
        "help": _("Keys"),
        "help.space.keys": _("Space"),
        "help.space": _("play, pause"),
        "help.arrows.keys": _("← →"),
        "help.arrows": _("one step back, one step on: a proposal, a judgement, a token"),
        "help.ends.keys": _("Home End"),
        "help.ends": _("to the start, to the end"),
        "help.tab.keys": _("Tab"),
        "help.tab": _("into the tokens of a lane"),
        "help.tokens.keys": _("← → ↑ ↓"),
        "help.tokens": _("on a token: to the next token, to the next cycle"),
        "help.enter.keys": _("Enter"),
        "help.enter": _("keep the dice of this token open; a click does the same"),
        "help.escape.keys": _("Esc"),
        "help.escape": _("close"),
        "help.speed.keys": _("Live"),
        "help.speed": _(
            "keeps up with the run; once it is over, plays it at the pace of the model. At"
            " 0.25× to 8× every judgement has its time. No speed changes a number."
        ),
        "legend": _("Classes of tokens: press to dim"),
        "struck.hide": _("Hide struck tokens"),
    }


def _numbers() -> dict[str, str]:
    return {
        "headline": _("Measured so far"),
        "metric.speedup": _("Speedup"),
        "metric.speedup.help": _(
            "Measured: plain decoding’s seconds a token over speculative decoding’s, the same"
            " model and prompt on this machine. Below 1 it is slower. The prompt’s pass is in"
            " neither."
        ),
        "metric.speculative": _("Speculative"),
        "metric.speculative.unit": _("tokens/s"),
        "metric.speculative.help": _(
            "Tokens emitted by the cycles over the model’s time for them, by the engine’s own"
            " clock. The first token, from the prompt’s pass, is left out, and so is all time"
            " spent on showing."
        ),
        "metric.plain": _("Plain"),
        "metric.plain.unit": _("tokens/s"),
        "metric.plain.help": _(
            "The same target with no drafter, one token a pass, by the engine’s own clock."
        ),
        "metric.tau": _("Mean acceptance length τ"),
        "metric.tau.unit": _("tokens a cycle"),
        "metric.tau.help": _(
            "Tokens emitted over cycles: the accepted ones and the one that the target itself adds."
        ),
        "metric.acceptance": _("Draft acceptance rate"),
        "metric.acceptance.unit": _("of all proposed"),
        "metric.acceptance.help": _(
            "Tokens accepted over tokens proposed. A discarded token counts as proposed."
        ),
        "speedup.faster": _("faster than plain decoding"),
        "speedup.slower": _(
            "slower than plain decoding: a cycle gives {tau} tokens but takes {cost} times as long"
            " as a plain pass ({drafting} of it is drafting); {acceptance} of the proposals are"
            " kept"
        ),
    }


def _tokens() -> dict[str, str]:
    return {
        "kind.accepted": _("accepted"),
        "kind.accepted.help": _("Proposed by the drafter, tested, kept."),
        "kind.rejected": _("rejected"),
        "kind.rejected.help": _("The first proposal of a cycle that failed its test."),
        "kind.discarded": _("discarded"),
        "kind.discarded.help": _("Proposed after a rejected token: never tested."),
        "kind.resampled": _("resampled"),
        "kind.resampled.help": _(
            "Drawn in place of a rejected token, from what the drafter had left uncovered."
        ),
        "kind.bonus": _("bonus"),
        "kind.bonus.help": _("One more from the target, in a cycle whose every proposal was kept."),
        "kind.target": _("target"),
        "kind.target.help": _("The target’s own: nothing had been proposed there."),
        "kind.pending": _("proposed"),
        "token.empty": _("part of a character"),
        "token.newline": _("line break"),
        "token.space": _("space"),
        "token.label.proposed": _("{token}, {kind}, p {p}, q {q}"),
        "token.label.drawn": _("{token}, {kind}, p {p}"),
        "token.label.plain": _("{token}, {kind}"),
        "cycle.summary": _(
            "Cycle {number}: {drafted} proposed, {accepted} accepted, {emitted} emitted, {time}"
        ),
    }


def _dice() -> dict[str, str]:
    return {
        "dice": _("The dice of this token"),
        "dice.slot": _("proposal {slot} of {of}"),
        "dice.position": _("token {number}"),
        "dice.prompt": _("from the prompt’s pass"),
        "words.pending": _(
            "The drafter proposes {token}, to which it gave {q}. At this moment the target has"
            " not judged it yet."
        ),
        "words.ratio": _(
            "The drafter gave {token} {q}, the target {p}. So it is kept with probability"
            " min(1, {p} / {q}) = {accept}."
        ),
        "words.certain": _(
            "The drafter gave {token} {q}, the target {p}: at least as much. So it is kept"
            " whatever the dice say."
        ),
        "words.copied": _(
            "The drafter copied {token} from the text before, so q = 1, and it is kept with the"
            " probability that the target gives it: {accept}."
        ),
        "words.dice.accepted": _("The dice fell on {u}, below {accept}: accepted."),
        "words.dice.rejected": _("The dice fell on {u}, not below {accept}: rejected."),
        "words.undiced.accepted": _("No dice were needed: accepted."),
        "words.undiced.rejected": _("No dice were needed: rejected."),
        "words.replaced": _(
            "In its place stands {token}, drawn from the residual: what the target gives beyond"
            " what the drafter gave."
        ),
        "words.discarded": _(
            "The drafter gave {token} {q}. It came after a rejected token, so the text it was"
            " meant for does not exist: it was never tested."
        ),
        "words.behind_end": _(
            "The text came to its end before {token}, so it is no part of it and in no count."
        ),
        "words.resampled": _(
            "{rejected} was rejected here. In its place {token} was drawn from the residual,"
            " what the target gives beyond what the drafter gave, where it had {p}."
        ),
        "words.bonus": _(
            "Every proposal of this cycle was kept. So the same pass gives one more token, drawn"
            " from the target’s own distribution, where {token} had {p}."
        ),
        "words.target": _(
            "Nothing had been proposed here: {token} was drawn from the target’s own"
            " distribution, where it had {p}."
        ),
        "words.greedy.accepted": _(
            "Greedy: the target’s first choice is {token}, just what was proposed, so it is"
            " accepted."
        ),
        "words.greedy.rejected": _(
            "Greedy: {token} is not the target’s first choice, so it is rejected."
        ),
        "words.greedy.rejected.best": _(
            "Greedy: the target’s first choice is {best}, not {token}, so it is rejected."
        ),
        "words.greedy.resampled": _(
            "Greedy: the target’s first choice is {token}, so it takes the place of {rejected}."
        ),
        "words.greedy.bonus": _(
            "Greedy: every proposal of this cycle was kept, so the same pass gives the target’s"
            " next first choice too, {token}."
        ),
        "words.greedy.target": _(
            "Greedy: nothing had been proposed here, so it is the target’s first choice, {token}."
        ),
        "gauge.accept": _("kept below {accept}"),
        "gauge.dice": _("the dice: {u}"),
        "bars.caption": _("What each gave"),
        "bars.token": _("Token"),
        "bars.target": _("Target p"),
        "bars.drafter": _("Drafter q"),
        "bars.target.caption": _("What the target gave"),
        "bars.drafter.caption": _("What the drafter gave"),
        "bars.residual": _("Residual: the target beyond the drafter"),
    }


def _charts() -> dict[str, str]:
    return {
        "chart.race": _("The race, in tokens"),
        "chart.race.x": _("seconds of model time"),
        "chart.race.hover": _("%{y} tokens after %{x:.2f} s"),
        "chart.race.summary": _("{lane}: {tokens} tokens after {seconds} seconds of model time."),
        "chart.ledger": _("Where the time goes"),
        "chart.ledger.x": _("milliseconds a token"),
        "chart.ledger.hover": _("%{x:.2f} ms a token"),
        "chart.ledger.summary": _("{lane}: {time} a token, of which {parts}."),
        "part.draft": _("draft"),
        "part.verify": _("verify"),
        "part.sample": _("sample"),
        "part.bookkeeping": _("bookkeeping"),
        "chart.histogram": _("Accepted per cycle"),
        "chart.histogram.note": _("how many proposals were kept"),
        "chart.histogram.x": _("proposals accepted"),
        "chart.histogram.hover": _("%{y} cycles accepted %{x}<extra></extra>"),
        "chart.histogram.summary": _(
            "Cycles by the number of proposals accepted: {counts}. {tau} tokens a cycle on average."
        ),
        "chart.conditional": _("Acceptance by position"),
        "chart.conditional.note": _("of those tested, 95 % interval"),
        "chart.conditional.x": _("place among the proposals"),
        "chart.conditional.hover": _("%{y:.0%} of %{customdata} tested<extra></extra>"),
        "chart.conditional.summary": _("Position {position}: {rate} of {tested} tested."),
    }
