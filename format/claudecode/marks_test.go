package claudecode

import "testing"

// One member of our marks that another version wrote in another form does not take the others away.
func TestMarks_eachMemberIsReadByItself(t *testing.T) {
	m := readMarks([]byte(`{"elisions":[{"part":1}],"content":"as it was","message":7,"copy":"u"}`))
	if m == nil || string(m.Content) != `"as it was"` || m.Copy != "u" || m.Elisions != nil || m.Message != nil {
		t.Errorf("got %+v", m)
	}
	if m := readMarks([]byte(`{"elisions":7}`)); m != nil {
		t.Errorf("of nothing that is understood there is %+v", m)
	}
}
