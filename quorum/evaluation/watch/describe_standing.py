"""How a promise stands, in sentences for people."""

from quorum.core.text import format_count
from quorum.evaluation.watch.labelling import describe_judge
from quorum.evaluation.watch.promise import Promise
from quorum.evaluation.watch.standing import Standing

DAY = 10  # characters of a time that are its day


def describe_standing(standing: Standing) -> list[str]:
    """Sentences for people, the verdict first. Where a judge labels, each says so."""
    return [describe_verdict(standing), describe_share(standing), *list_remedies(standing)]


def describe_verdict(standing: Standing) -> str:
    promise, by = standing.promise, name_labeller(standing.promise)
    if standing.state == "refuted":
        return (
            f"NOT KEPT. {promise.sentence}: refuted on {str(standing.refuted_at)[:DAY]}{by}. If the promise had been "
            "kept all the time, such an alarm would ever come with a probability of 5% at most."
        )
    if standing.state == "judge changed" and standing.shift is not None:
        shift = standing.shift
        verb = "has changed" if not shift.low <= 0 <= shift.high else "may have changed"
        return (
            f"The judge {verb}. {promise.sentence}: not decided{by}; of the {standing.anchors:,} answers that it "
            f"judged before, it calls {signed(shift.shift)} points more wrong [{signed(shift.low)}, "
            f"{signed(shift.high)}], and that could be all that has changed."
        )
    if standing.state == "confirmed":
        return (
            f"Kept. {promise.sentence}: confirmed by the last {format_count(standing.confirmed_labels, 'label')} "
            f"(since {str(standing.confirmed_since)[:DAY]}){by}; such a sentence is wrong with a probability of 5% at "
            "most."
        )
    if standing.must_check:
        return f"Not decided yet. {promise.sentence}: an alarm waits until the judge is asked its anchors again{by}."
    if 0 < standing.anchors < promise.anchors or (promise.anchors and not standing.anchors):
        return (
            f"Not decided yet. {promise.sentence}: {standing.anchors:,} of {promise.anchors:,} answers are kept as "
            f"anchors of the judge, and the watch begins with the next ones{by}."
        )
    return f"Not decided yet. {promise.sentence}: neither refuted nor confirmed{by}."


def describe_share(standing: Standing) -> str:
    labels = f"{format_count(standing.done, 'label')}, {standing.waiting:,} waiting"
    share = describe_broken(standing.promise, *standing.broken)
    return f"{share}{name_labeller(standing.promise)} ({labels}; with probability .95, whenever you look)."


def list_remedies(standing: Standing) -> list[str]:
    promise = standing.promise
    if standing.state == "refuted":
        certificate = {"wrong": "Calibrate", "loss": "Compare and compose", "score": "Measure the score"}[promise.kind]
        return [f"{certificate} again on new questions, then: quorum watch reset {promise.name} --because TEXT"]
    if standing.state == "judge changed":
        return [
            "Label by people, who need no anchors, or begin anew with this judge: quorum watch reset "
            f"{promise.name} --because TEXT"
        ]
    if standing.state == "open" and standing.waiting and promise.labels == "people":
        return [f"Label what waits: quorum label {promise.name}"]
    return []


def name_labeller(promise: Promise) -> str:
    """' by the verdicts of the judge NAME, not of people'; empty where people label."""
    return f", by the verdicts of the judge {describe_judge(promise)}, not of people" if promise.judge_labels else ""


def describe_broken(promise: Promise, low: float, high: float) -> str:
    """The interval in words. Its ends cross if the share has changed since the reset."""
    if low > high:
        subject, less, more = {
            "wrong": ("share wrong", "less", "more"),
            "loss": ("loss", "less", "more"),
            "score": ("mean score", "more", "less"),
        }[promise.kind]
        ends = format_broken(promise, high), format_broken(promise, low)
        return f"The {subject} has changed: at one time it was {less} than {ends[0]}, at another {more} than {ends[1]}"
    if promise.kind == "wrong":
        return f"Between {format_broken(promise, low)} and {format_broken(promise, high)} of the answers are wrong"
    if promise.kind == "loss":
        ends = format_broken(promise, low), format_broken(promise, high)
        return f"The loss against {promise.rival} is between {ends[0]} and {ends[1]} points"
    return f"The answers score between {format_broken(promise, high)} and {format_broken(promise, low)} on average"


def format_broken(promise: Promise, z: float) -> str:
    """A mean of z in the promise's unit: a share wrong, a score, or points of loss."""
    if promise.kind == "wrong":
        return f"{z:.1%}"
    return f"{1 - z:.2f}" if promise.kind == "score" else signed((2 * z - 1) * (1 + promise.wrong_cost))


def signed(value: float) -> str:
    """A share in points with its sign."""
    return f"{100 * value:+.1f}"
