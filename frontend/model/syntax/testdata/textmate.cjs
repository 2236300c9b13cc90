// Prints the innermost scopes of files, as the engine of Visual Studio Code finds them:
// node textmate.cjs GRAMMAR FILE..., with vscode-textmate and vscode-oniguruma in NODE_PATH.
const fs = require("fs");
const path = require("path");
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

async function main([grammarFile, ...files]) {
  const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (s) => new oniguruma.OnigString(s),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
  });
  const grammar = await registry.loadGrammar("source.cpor");
  const all = {};
  for (const file of files) {
    let state = textmate.INITIAL;
    all[file] = fs.readFileSync(file, "utf8").split("\n").map((line) => {
      const r = grammar.tokenizeLine(line, state);
      state = r.ruleStack;
      return r.tokens.map((t) => ({ from: t.startIndex, to: Math.min(t.endIndex, line.length), scope: t.scopes.length > 1 ? t.scopes.at(-1) : "" }));
    });
  }
  process.stdout.write(JSON.stringify(all));
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
