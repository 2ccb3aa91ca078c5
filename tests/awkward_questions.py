"""Forty-three questions about the folder of documents that `awkward_documents.write_documents` writes."""

from typing import NamedTuple


class DocumentQuestion(NamedTuple):
    """file: the file that answers the question; text: what a passage found in that file must contain literally."""

    question: str
    file: str
    text: str


QUESTIONS = [
    DocumentQuestion(
        "Who keeps the spare key of the boathouse?", "notes.txt", "the ferryman keeps the spare key of the boathouse"
    ),
    DocumentQuestion(
        "When does the lower gate open in winter?", "notes.txt", "lower gate opens at half past seven in winter"
    ),
    DocumentQuestion("What is served at the Café Müller?", "latin.txt", "The Café Müller serves elderberry soup"),
    DocumentQuestion("How deep is the Grünsee?", "wide.txt", "The Grünsee is 43 metres deep"),
    DocumentQuestion("Which port does the gauge server listen on?", "setup.md", "port: 8094"),
    DocumentQuestion("Which host does the gauge server use?", "setup.md", "host: gauge.orla.example"),
    DocumentQuestion("How often is the log rotated?", "setup.md", "Logs are rotated every nine days"),
    DocumentQuestion(
        "Is the old gauge trustworthy or unbelievable?", "setup.md", "readings of the old gauge are unbelievable"
    ),
    DocumentQuestion("What alarm level has the gauge Tarn?", "setup.md", "Gauge: Tarn; Alarm at: 3.4 m"),
    DocumentQuestion("Where is the manual of the valve?", "setup.md", "See the valve manual for more"),
    DocumentQuestion(
        "How many rangers may cross at once on the rope bridge?", "guide.rst", "At most 4 rangers may cross at once"
    ),
    DocumentQuestion("What command starts the siren test?", "guide.rst", "siren --test --volume 3"),
    DocumentQuestion("What is the length of the Heron trail?", "guide.rst", "Trail: Heron; Length: 12 km"),
    DocumentQuestion("How high is the dam Vell?", "dams.html", "Dam: Vell; Height: 87 m; Built: 1931"),
    DocumentQuestion("When was the dam Brack built?", "dams.html", "Dam: Brack; Height: 61 m; Built: 1954"),
    DocumentQuestion(
        "What is the flow of the pump Kestrel?", "dams.html", "Pump: Kestrel; Data: Flow: 30 l/s, Power: 12 kW"
    ),
    DocumentQuestion(
        "What is the power of the pump Osprey?", "dams.html", "Pump: Osprey; Data: Flow: 55 l/s, Power: 21 kW"
    ),
    DocumentQuestion("How much water does the lake of Vell hold?", "dams.html", "holds 4 · 10⁶ m³ of water"),
    DocumentQuestion(
        "How many weeks of parental leave are there?", "handbook.pdf", "Parents may take fourteen weeks of leave"
    ),
    DocumentQuestion(
        "Who approves travel to the northern stations?",
        "handbook.pdf",
        "The station master approves travel to the northern",
    ),
    DocumentQuestion(
        "What must be worn in the turbine hall?", "handbook.pdf", "Everybody wears ear protection in the turbine hall"
    ),
    DocumentQuestion(
        "What is the allowance for a night in Brack?", "handbook.pdf", "Town: Brack; Night: 95 euros; Meals: 31 euros"
    ),
    DocumentQuestion("What did the inspector find uncontaminated?", "letter.docx", "found the spring uncontaminated"),
    DocumentQuestion("What does the inspection of a sluice cost?", "letter.docx", "Item: Sluice; Fee: 240 euros"),
    DocumentQuestion("What does the inspection of a weir cost?", "letter.docx", "Item: Weir; Fee: 310 euros"),
    DocumentQuestion("How many fish passed the ladder in 2021?", "talk.pptx", "Year: 2021; Fish: 1,870"),
    DocumentQuestion("What slows the salmon down?", "talk.pptx", "Warm water slows the salmon"),
    DocumentQuestion(
        "What should the speaker remember to mention?", "talk.pptx", "Remember to mention the volunteers of Tarn"
    ),
    DocumentQuestion("What does the crane rental cost?", "budget.xlsx", "Item: Crane rental; Cost: 18500"),
    DocumentQuestion("Which share of the reserve is spent?", "budget.xlsx", "Fund: Reserve; Spent: 12.5%"),
    DocumentQuestion("Who runs the station Elm?", "stations.csv", "Station: Elm; Keeper: Ida Roth; Since: 2009"),
    DocumentQuestion("What rainfall was read at Oak?", "rain.tsv", "Place: Oak; Rain: 118 mm"),
    DocumentQuestion(
        "What does the miller hide under the wheel?", "novel.epub", "the miller hid the silver bell under the wheel"
    ),
    DocumentQuestion("Where does Ann leave the parcel?", "parcel.eml", "I leave the parcel behind the blue door"),
    DocumentQuestion(
        "What is the password hint for the logger?", "logger.json", "logger: hint: the name of the first dog"
    ),
    DocumentQuestion("Which river feeds the Lumen lake?", "facts.jsonl", "The Lumen lake is fed by the river Sarn"),
    DocumentQuestion("What happened to the buoy at noon?", "events.jsonl", "what: the buoy drifted; when: noon"),
    DocumentQuestion("What is the mean of the silt samples?", "silt.ipynb", "The mean of the silt samples is 0.37"),
    DocumentQuestion("How many retries does the pump driver make?", "driver.py", "RETRIES = 6"),
    DocumentQuestion("What is the interval of the heartbeat?", "beat.toml", "heartbeat_interval = 45"),
    DocumentQuestion("How high is the spring tide at Sund?", "tides.odt", "The spring tide at Sund reaches 5.2 metres"),
    DocumentQuestion("When does the lease of the smokehouse end?", "lease.rtf", "smokehouse ends in October 2031"),
    DocumentQuestion("Where is the crate of lamps?", "crate.msg", "the crate of lamps in the old chapel"),
]
# Texts that no passage may contain, because readers leave out scripts, menus, templates and directives.
UNWANTED_TEXTS = ("Enable scripts", "Home Contact", "tracking", "placeholder row", "include")
