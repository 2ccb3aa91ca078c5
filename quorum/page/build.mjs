// Builds the page: src/ -> built/. With --check, compares what it would write with what is there, byte for byte.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const built = join(here, "built");
const LARGEST = 250_000; // bytes altogether
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core", "markdown-it", "mdurl", "uc.micro", "entities", "linkify-it", "punycode.js"];

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", markdown: "src/markdown.ts", style: "src/app.css" },
  outdir: built,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  external: ["/page/*"],
  metafile: true,
  write: false,
});
const files = new Map(result.outputFiles.map((file) => [file.path.slice(built.length + 1).replace("style.css", "app.css"), Buffer.from(file.contents)]));
for (const name of ["index.html", "icon.svg"]) files.set(name, readFileSync(join(here, "src", name)));

const used = new Set(Object.keys(result.metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
const unlisted = [...used].filter((name) => !BUNDLED.includes(name));
if (unlisted.length) throw new Error(`state the licence of ${unlisted.join(", ")}: add it to BUNDLED in build.mjs`);
const licences = [...used].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
});
files.set("LICENSES.txt", Buffer.from(`The files beside this one contain these packages:\n\n${licences.join(`\n${"-".repeat(79)}\n\n`)}`));
files.set("sources.sha256", Buffer.from(hashSources() + "\n"));

// The sources as tests/serving/test_served_page.py reads them: each file's path and content, in the order of their paths.
function hashSources() {
  const hash = createHash("sha256");
  const paths = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(here.length + 1));
  for (const path of [...paths, "build.mjs", "package-lock.json"].sort()) hash.update(`${path}\n`).update(readFileSync(join(here, path)));
  return hash.digest("hex");
}

const size = [...files].filter(([name]) => /\.(js|css|html)$/.test(name)).reduce((sum, [, content]) => sum + content.length, 0);
if (size > LARGEST) throw new Error(`the page has ${size} bytes; at most ${LARGEST} are allowed`);
if (process.argv.includes("--check")) {
  const differing = [...files].filter(([name, content]) => {
    try {
      return !readFileSync(join(built, name)).equals(content);
    } catch {
      return true;
    }
  });
  const extra = readdirSync(built).filter((name) => !files.has(name));
  if (differing.length || extra.length) {
    console.error(`quorum/page/built is not what its sources give (${[...differing.map(([name]) => name), ...extra].join(", ")}); run: make page-build`);
    process.exit(1);
  }
  console.log(`quorum/page/built is what its sources give: ${size} bytes`);
} else {
  for (const [name, content] of files) writeFileSync(join(built, name), content);
  console.log(`quorum/page/built: ${[...files].map(([name, content]) => `${name} ${content.length}`).join(", ")}; the page has ${size} bytes`);
}
