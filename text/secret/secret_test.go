package secret

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// fill is a made-up run of letters and digits; no key of anybody's.
func fill(n int) string {
	const of = "a7Bq2Zx9Kd4Lm8Tw3Rv6Yc1Hn5Js0Pf"
	return strings.Repeat(of, n/len(of)+1)[:n]
}

func upperFill(n int) string { return strings.ToUpper(fill(n)) }

var body = strings.Repeat("MIIEpAIBAAKCAQEA"+fill(48)+"\n", 6)

// secrets are texts and what is left of them.
func secrets() map[string]string {
	jwt := "eyJ" + fill(20) + ".eyJ" + fill(40) + "." + fill(43)
	return map[string]string{
		"key sk-ant-api03-" + fill(90) + "AA.":                          "key sk-ant-[masked].",
		"sk-proj-" + fill(48) + " is OpenAI's":                          "sk-proj-[masked] is OpenAI's",
		"(sk-" + fill(48) + ")":                                         "(sk-[masked])",
		"AIza" + fill(35):                                               "AIza[masked]",
		"ghp_" + fill(36) + ", github_pat_" + fill(22) + "_" + fill(59): "ghp_[masked], github_pat_[masked]",
		"AKIA" + upperFill(16):                                          "AKIA[masked]",
		"aws_secret_access_key = " + fill(20) + "/" + fill(19):          "aws_secret_access_key = [masked]",
		"xoxb-123456789012-" + fill(24):                                 "xoxb-[masked]",
		"https://hooks.slack.com/services/T0" + upperFill(8) + "/B" + fill(9) + "/" +
			fill(24): "https://hooks.slack.com/services/[masked]",
		jwt:                                 "eyJ[masked]",
		"Authorization: Bearer " + jwt:      "Authorization: Bearer eyJ[masked]",
		"Authorization: Bearer " + fill(40): "Authorization: Bearer [masked]",
		"curl -H 'authorization: Basic " + fill(24) +
			"=='": "curl -H 'authorization: Basic [masked]'",
		`"x-api-key": "` + fill(32) + `"`: `"x-api-key": "[masked]"`,
		"npm_" + fill(36) + " pypi-AgEIcHlwaS5vcmc" +
			fill(60): "npm_[masked] pypi-AgEI[masked]",
		"sk_live_" + fill(24) + " rk_test_" +
			fill(24): "sk_live_[masked] rk_test_[masked]",
		"ya29." + fill(60) + " GOCSPX-" + fill(28):            "ya29.[masked] GOCSPX-[masked]",
		"postgres://keeper:l1ght!house@db.example:5432/coast": "postgres://keeper:[masked]@db.example:5432/coast",
		"redis://:hunter2@localhost":                          "redis://:[masked]@localhost",
		"https://x-access-token:ghs_" + fill(36) +
			"@github.com/a/b.git": "https://x-access-token:ghs_[masked]@github.com/a/b.git",
		"GET /tide?access_token=" + fill(32) +
			"&page=2": "GET /tide?access_token=[masked]&page=2",
		"export DEEPSEEK_API_KEY=" + fill(32) +
			"\nexport HOME=/root": "export DEEPSEEK_API_KEY=[masked]\nexport HOME=/root",
		"MAPS_KEY=" + fill(32):                      "MAPS_KEY=[masked]",
		`DB_PASSWORD="hunter2"`:                     `DB_PASSWORD="[masked]"`,
		"password: s3cr3t-tide":                     "password: [masked]",
		"mysql --password=hunter2 -u root":          "mysql --password=[masked] -u root",
		"client_secret=" + fill(40) + "\n":          "client_secret=[masked]\n",
		`{"accessToken":"` + fill(40) + `"}`:        `{"accessToken":"[masked]"}`,
		`{\"api_key\": \"` + fill(40) + `\"}`:       `{\"api_key\": \"[masked]\"}`,
		`line\nsk-ant-api03-` + fill(90) + `\nline`: `line\nsk-ant-[masked]\nline`,
		`a\u0026AKIA` + upperFill(16):               `a\u0026AKIA[masked]`,
		"-----BEGIN RSA PRIVATE KEY-----\n" + body +
			"-----END RSA PRIVATE KEY-----\n": "-----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----" + strings.ReplaceAll("\n"+body, "\n", `\n`) +
			"-----END OPENSSH PRIVATE KEY-----": "-----BEGIN OPENSSH PRIVATE KEY-----[masked]-----END OPENSSH PRIVATE KEY-----",
		"     1→-----BEGIN PRIVATE KEY-----\n     2→" + strings.ReplaceAll(body, "\n", "\n     3→") +
			"-----END PRIVATE KEY-----": "     1→-----BEGIN PRIVATE KEY-----[masked]-----END PRIVATE KEY-----",
		`"-----BEGIN PRIVATE KEY-----\n` + fill(60) +
			`", "cut off"`: `"-----BEGIN PRIVATE KEY-----[masked]", "cut off"`,
	}
}

func TestMask_keepsWhatItBeginsWith(t *testing.T) {
	for text, want := range secrets() {
		got, n := Mask(text)
		if got != want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", text, got, want)
		}
		if count := strings.Count(want, Masked); n != count {
			t.Errorf("Mask(%q) says %d, not %d", text, n, count)
		}
	}
}

func TestMask_leavesWhatIsNone(t *testing.T) {
	for _, text := range []string{
		"", "plain", "commit 9a6bc8f0d1e2a3b4c5d6e7f8091a2b3c4d5e6f70", "id 550e8400-e29b-41d4-a716-446655440000",
		"token=550e8400-e29b-41d4-a716-446655440000",
		"integrity sha512-" + fill(86) + "==", "cache-key: node-modules-" + fill(40),
		"sha256:" + strings.Repeat("ab12", 16), "data:image/png;base64," + fill(400),
		`"signature":"` + fill(400) + `"`, `"encrypted_content":"gAAAA` + fill(400) + `"`,
		"max_tokens=16000, total_tokens: 1234567890123456", `"next_page_token":"` + fill(40) + `"`,
		"password=password, user=user", "connect(password=args.password2)", "password = os.environ['DB_PASS1']",
		"token := config.Auth2.AccessToken", "api_key=getKey2(account1)",
		"password: string", "password: ${{ secrets.DB1 }}", "API_KEY=$API_KEY_2", "API_KEY=<your-api-key-12345>",
		"token: {{ .Values.token1234567 }}", "PWD=/root/project2", "OLDPWD=/home/keeper1/x",
		"sk-learn is spelled scikit-learn-something-very-long-indeed", "task-force-sk-abcdefghijklmnopqrstuvwxyzabcdef",
		"https://example.org:8443/a@b", "ssh://git@github.com/a/b", "http://a:8080",
		"postgres://keeper:$PASSWORD@db/coast", "postgres://keeper:****@db/coast",
		"BUILD_KEY=" + strings.Repeat("0a1b", 10), "-----BEGIN PUBLIC KEY-----\n" + body +
			"-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "AKIAIOSFOD", "ghp_short", "eyJhbGciOi.eyJ.x",
		"secret: projects/tide1/secrets/lamp2/versions/12", "the secret: nobody knows it",
		"xAKIA" + upperFill(16), "keys: a=1 b=2", "Bearer of bad news and good", "author: tide1234567890123456",
		"--- PASS: TestLamp0 (0.00s)", `--- PASS: TestLamp0\n--- PASS: Test1`,
	} {
		if got, n := Mask(text); got != text || n != 0 {
			t.Errorf("Mask(%q) = %q, %d", text, got, n)
		}
	}
}

// What is masked once stays as it is, wherever a secret stands.
func TestMask_isDoneOnce(t *testing.T) {
	var all []string
	for text := range secrets() {
		all = append(all, text)
	}
	pieces := append(all, " ", "\n", `"`, `\`, `\n`, "=", ":", "password=", "token: ", "://", "@", "sk-", "eyJ",
		"-----BEGIN PRIVATE KEY-----", "x", "日")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), "")
		once, _ := Mask(text)
		if twice, n := Mask(once); twice != once || n != 0 {
			t.Fatalf("Mask(%q)\n  = %q, and again\n    %q, %d", text, once, twice, n)
		}
	})
}

// The bytes of a JSON document stay a JSON document with the same members, and nothing is left in
// it that is masked in the text itself.
func TestMask_ofJSONIsJSON(t *testing.T) {
	var all []string
	for text := range secrets() {
		all = append(all, text)
	}
	pieces := append(all, " ", "\n", `"`, `\`, "=", "é", "\t", "password=a&1<>b", "\u2028", "\x00")
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "text"), " ")
		}), 0, 4).Draw(t, "texts")
		for _, depth := range []int{1, 2} { // as arguments are: JSON within a string of JSON
			document, err := json.Marshal(map[string]any{"list": texts, "key": "value"}, jsontext.EscapeForHTML(true))
			for range depth - 1 {
				document, err = json.Marshal(map[string]any{"arguments": string(document)},
					jsontext.EscapeForHTML(true))
			}
			if err != nil {
				t.Fatal(err)
			}
			masked, _ := Mask(string(document))
			for range depth - 1 {
				var outer map[string]string
				if err := json.Unmarshal([]byte(masked), &outer); err != nil {
					t.Fatalf("%v: %s", err, masked)
				}
				masked = outer["arguments"]
			}
			var back struct {
				List []string `json:"list"`
				Key  string   `json:"key"`
			}
			if err := json.Unmarshal([]byte(masked), &back); err != nil {
				t.Fatalf("%v: %s\n was %s", err, masked, document)
			}
			if len(back.List) != len(texts) || back.Key != "value" {
				t.Fatalf("%s became %s", document, masked)
			}
			for _, text := range back.List {
				if strings.Contains(text, fill(20)) {
					t.Fatalf("%q is left of\n%s", text, document)
				}
			}
		}
	})
}

// Texts of nothing but beginnings are worked through in one go: what would be quadratic does not
// end within the patience of a test.
func TestMask_beginningsWithoutAnEnd(t *testing.T) {
	for _, piece := range []string{"token=", "token:", `token:"`, "password=", "://", "://a:b", "sk-ant-", "sk-", "eyJ",
		"eyJaaaaaaaa.eyJ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\\", "=", ":", `\`, `"`,
		"Bearer ", "_KEY=a1", "token=a1/"} {
		text := strings.Repeat(piece, 1<<20/len(piece))
		if got, _ := Mask(text); len(got) == 0 {
			t.Errorf("nothing is left of %q", piece)
		}
	}
}

func FuzzMask(f *testing.F) {
	for text := range secrets() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, n := Mask(text)
		if (n == 0) != (once == text) {
			t.Errorf("%d masked in %q: %q", n, text, once)
		}
		if twice, _ := Mask(once); twice != once {
			t.Errorf("Mask(%q) = %q, and again %q", text, once, twice)
		}
		if quoted, err := jsontext.AppendQuote(nil, text); err == nil {
			if masked, _ := Mask(string(quoted)); !jsontext.Value(masked).IsValid() {
				t.Errorf("%s became %s", quoted, masked)
			}
		}
	})
}
