package bindings

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/winnowhq/winnow/internal/llmtest"
	"github.com/winnowhq/winnow/internal/outside"
)

// typescript copies the hooks and their programs beside the packages, and returns the folder of both.
func typescript(t *testing.T) string {
	t.Helper()
	to := folder(t, "typescript")
	from := filepath.Join(outside.Root(t), "rpc", "bindings", "typescript")
	if err := os.RemoveAll(filepath.Join(to, "src")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(to, "src"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// The hooks and the programs fit the frameworks' types.
func TestTypeScript_types(t *testing.T) {
	dir := typescript(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "tsc"), "--strict",
		"--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--verbatimModuleSyntax", "--skipLibCheck", "--noEmit",
		"--allowImportingTsExtensions", "--target", "es2022", "--module", "nodenext", "--types", "node",
		"src/ai-sdk.ts", "src/mastra.ts", "src/langchain.ts", "src/try/parts.ts",
		"src/try/ai-sdk.ts", "src/try/mastra.ts", "src/try/langchain.ts")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// Parts of every kind stay in their places when others are left out.
func TestTypeScript_parts(t *testing.T) {
	program := filepath.Join(typescript(t), "src", "try", "parts.ts")
	if said, err := exec.CommandContext(t.Context(), "node", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// Agents of each framework do a chore with two providers.
func TestTypeScript_agents(t *testing.T) {
	dir := typescript(t)
	for _, framework := range []string{"ai-sdk", "mastra", "langchain"} {
		for _, protocol := range []llmtest.Protocol{llmtest.Anthropic, llmtest.Chat} {
			t.Run(framework+" "+string(protocol), func(t *testing.T) {
				work(t, protocol, "node", filepath.Join(dir, "src", "try", framework+".ts"))
			})
		}
	}
}
