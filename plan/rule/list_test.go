package rule_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnowhq/winnow/internal/outside"
)

// list holds the 65 cases that the pruners before this one failed at, in their numbering: what is to hold, and the test (or benchmark) that holds it here. Where the
// design makes a case void, why says so.
var list = []struct {
	number     int
	what       string
	test       string
	why        string
	secondTest string
}{
	{1, "two requests of one state are equal to the byte", "TestRules_whateverASessionHolds", "", "TestView_isTheSameEachTime"},
	{2, "each request begins with the one before, but at commits", "TestRules_whateverASessionHolds", "", "TestEngine_whateverIsDoneToASession"},
	{3, "a call seen running is decided when it ends", "TestRetries_aCallThatEndsLaterIsDecidedThen", "", "TestRules_whateverASessionHolds"},
	{4, "a restart in between changes no byte", "TestEngine_aRestartChangesNoByte", "", ""},
	{5, "a shortened list, then the whole again: nothing is lost", "TestRules_whateverASessionHolds", "", "TestRules_onRecordedSessions"},
	{6, "the input is never changed", "TestRules_whateverASessionHolds", "", ""},
	{7, "the order of keys and blanks in arguments decide nothing", "TestIdentity_whatCallsAreEqual", "", ""},
	{8, "grep x is not glob x; two tools without arguments are two", "TestIdentity_whatCallsAreEqual", "", ""},
	{9, "two calls whose handles collide are both addressable", "TestHandles_tellCollidingCallsApart", "", ""},
	{10, "./a, a, /repo/a and /repo/b/../a are one file, a in another folder is not", "TestIdentity_whatFilesAreOne", "", ""},
	{11, "arguments that differ in depth; null and absent; the order of arrays", "TestIdentity_whatCallsAreEqual", "", ""},
	{12, "whole, whole", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{13, "two disjoint ranges both stay", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{14, "whole, then a piece: the whole one stays", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{15, "pieces, then the whole: the pieces go", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{16, "two pieces together cover a third", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", "TestCovered"},
	{17, "a read stays after an edit", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{18, "read, edit, edit, whole read: all before goes", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{19, "what was written goes when it was read, its path stays", "TestInputs_whatIdentifiesACallStays", "", ""},
	{20, "what was written stays after an edit", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{21, "a failed edit or read makes nothing redundant", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", "TestOf_failedAndUnfinishedCallsShowNothing"},
	{22, "a read that worked stays after one that failed", "TestFiles_aViewGoesWhenNewerOnesCoverIt", "", ""},
	{23, "equal calls of one step", "TestDuplicates_inOneStep", "", ""},
	{24, "a patch over two files; several edits in one call", "TestInputs_aPatchKeepsItsFileNames", "", "TestOf_codex"},
	{25, "a read that its tool cut is a piece", "TestOf_saysOnlyWhatIsThere", "", "TestFiles_aViewGoesWhenNewerOnesCoverIt"},
	{26, "what was last known of every file can be told from what is shown", "TestCoverage_whatAViewHidesOfFilesIsStillKnown", "", "TestCoverage_lineByLineOnRecordedSessions"},
	{27, "ls src and ls docs stay, the older of two ls src goes", "TestQueries_anOlderAnswerToTheSameQuestionGoes", "", ""},
	{28, "ls -la && cat notes.md is no question", "TestQueries_onlyCommandsThatDoNothingButAskAreQuestions", "", ""},
	{29, "git branch -D, find -delete, > file are none", "TestQueries_onlyCommandsThatDoNothingButAskAreQuestions", "", ""},
	{30, "the same command in another folder", "TestQueries_ofAnotherFolderAreOtherQuestions", "", ""},
	{31, "git log -p f, git log --oneline", "TestQueries_anOlderAnswerToTheSameQuestionGoes", "", ""},
	{32, "fragment, default port and case of the host make one URL, another format two", "TestURLs_anOlderFetchOfThePageGoes", "", ""},
	{33, "a retry with a reworded description; the same arguments of another tool", "TestRetries_anErrorGoesWhenTheSameCallWorkedLater", "", ""},
	{34, "a success before an error stays", "TestRetries_aSuccessBeforeAFailureStays", "", ""},
	{35, "npm test that failed and then passed: the pass stays, and a line of the failure", "TestRetries_oneLineOfTheFailureStays", "", ""},
	{36, "of an error what tells most stays; short ones and recent ones whole", "TestErrors_whatTellsMostStays", "", "TestErrors_onlyOldLongFailuresAreShortened"},
	{37, "of 2 MB in a data: URL a short line is left, and nothing of the data", "TestAttachments_aLargePictureLeavesAShortLine", "", ""},
	{38, "the call and its text stay when its attachments go", "TestAttachments_theCallAndItsTextStay", "", ""},
	{39, "of two equal images the newer stays", "TestAttachments_theNewestOfEqualOnesStays", "", ""},
	{40, "the right one of two equal blocks of code goes, whatever is in it", "TestCodeBlocks_theRightBlockGoes", "", ""},
	{41, "ages without a field for them", "", "ages are counted in positions of the log, which every message has", ""},
	{42, "signed reasoning is never changed", "TestRules_whateverASessionHolds", "", ""},
	{43, "reasoning that cannot be read", "TestRules_whateverASessionHolds", "", ""},
	{44, "two steps in one message stay two without their markers", "TestView_stepMarkersByPolicy", "", ""},
	{45, "a file that holds what placeholders look like", "", "nothing is found by its look in a text: the ledger says which part is shown as what, and nothing is taken out of texts", ""},
	{46, "the summary of a distilled part is seen in every later request", "TestDistill_isSeenInEveryLaterViewAndRestoredToTheByte", "", ""},
	{47, "replacing text between two anchors", "", "an agent names parts by their handles; there is no replacing by text", ""},
	{48, "a bad target fails alone", "TestDiscard_aBadTargetFailsAlone", "", ""},
	{49, "what is restored has the bytes that it had, also after a restart", "TestDistill_isSeenInEveryLaterViewAndRestoredToTheByte", "", ""},
	{50, "a summary that does not pay is refused", "TestDistill_aSummaryThatDoesNotPayIsRefused", "", ""},
	{51, ".env and AGENTS.md that were read twice stay", "TestGuard_protectedFilesStay", "", ""},
	{52, "the file rules act as they are documented with the default settings", "TestStrategies_theDocumentShowsWhatTheProgramShows", "", ""},
	{53, "protected tools by glob", "TestGuard_toolsByGlob", "", ""},
	{54, "a file of one setting changes one; a mistake is told; three layers", "TestLoad_laterSourcesWin", "", "TestLoad_mistakesSayWhereAndWhatWasMeant"},
	{55, "all off is the identity; each switch fires its own rule", "TestStrategies_eachSwitchAloneFiresItsRule", "", "TestStrategies_aloneOnRandomSessions"},
	{56, "every call has one result, in its order", "TestRules_whateverASessionHolds", "", ""},
	{57, "it ends with whom it ended", "TestRules_whateverASessionHolds", "", ""},
	{58, "no empty message or part", "TestRules_whateverASessionHolds", "", ""},
	{59, "idempotent", "TestRules_whateverASessionHolds", "", ""},
	{60, "tokens never grow", "TestRules_whateverASessionHolds", "", ""},
	{61, "claimed is measured", "TestRules_whateverASessionHolds", "", "TestRules_onRecordedSessions"},
	{62, "a session of 2,000 messages, cold and warm", "BenchmarkInspectAndPrune_cold", "", "BenchmarkStep"},
	{63, "10,000 messages", "BenchmarkFind_cold", "", "BenchmarkFind_step"},
	{64, "no call is decided twice", "TestFacts_nothingOldIsLookedAtAgain", "", ""},
	{65, "a batch costs less than doing nothing under a prefix cache", "TestCost_aBatchPaysAndACommitEachStepPaysLess", "", ""},
}

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)

// The tests that the list names are there.
func TestList_eachCaseHasATestOrAReason(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(outside.Root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range list {
		if c.number != i+1 {
			t.Errorf("case %d stands where %d belongs", c.number, i+1)
		}
		if (c.test == "") == (c.why == "") {
			t.Errorf("%d, %s: it needs a test or a reason", c.number, c.what)
		}
		for _, name := range []string{c.test, c.secondTest} {
			if name != "" && !tests[name] {
				t.Errorf("%d, %s: there is no %s", c.number, c.what, name)
			}
		}
	}
	if len(list) != 65 {
		t.Errorf("%d cases, want 65", len(list))
	}
}
