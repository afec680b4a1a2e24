// SPDX-License-Identifier: MIT
// Written by bindings/constants.py from the C headers; change those.

package memtracer

// The numbers of memtracer.h and reader.h.
const (
	CodeOK             = 0
	CodeInval          = -1
	CodeNomem          = -2
	CodeIO             = -3
	CodeDB             = -4
	CodeSchema         = -5
	CodeUnsupported    = -6
	CodeDenied         = -7
	CodeState          = -8
	CodeThread         = -9
	CodeLimit          = -10
	CodeVersion        = -11
	TypeImage          = 1
	TypeMappedFile     = 2
	TypeShareable      = 3
	TypeHeap           = 4
	TypeManagedHeap    = 5
	TypeStack          = 6
	TypePrivate        = 7
	TypeDevice         = 8
	TypePageTable      = 9
	TypeUnusable       = 10
	TypeFree           = 11
	TypeTracer         = 12
	TypeUserFirst      = 32
	TypeCapacity       = 64
	LogInfo            = 0
	LogWarning         = 1
	LogError           = 2
	FlagNoRegions      = 1
	FlagNoPages        = 2
	FlagNoAllocator    = 4
	FlagAll            = 7
	ColumnSize         = 0
	ColumnCommitted    = 1
	ColumnCharged      = 2
	ColumnPrivate      = 3
	ColumnWS           = 4
	ColumnWSPrivate    = 5
	ColumnWSShareable  = 6
	ColumnWSShared     = 7
	ColumnPSS          = 8
	ColumnSwap         = 9
	ColumnLocked       = 10
	ColumnHuge         = 11
	ColumnLazyFree     = 12
	ColumnBlocks       = 13
	ColumnLargest      = 14
	StateRecording     = 1
	StatePaused        = 2
	StateDegraded      = 3
	StateSuspended     = 4
	StateEnded         = 5
	ValueNull          = 0
	ValueInteger       = 1
	ValueReal          = 2
	ValueText          = 3
	ValueBlob          = 4
	ShapePunctuated    = 0
	ShapeLinear        = 1
	ShapeExponential   = 2
	ShapeFragmentation = 3
	ShapeSteady        = 4
	ShapeSawtooth      = 5
	ShapeWarmup        = 6
	ShapeJump          = 7
	ShapeDiurnal       = 8
	ShapeTooShort      = 9
	CauseNone          = 0
	CauseLive          = 1
	CauseRetention     = 2
	CauseFile          = 3
	CauseReservation   = 4
	CauseHugePages     = 5
	CauseStacks        = 6
	CauseRegions       = 7
	CauseLazyFree      = 8
	MeasureHeld        = 0
	MeasureCommitted   = 1
	MeasureSize        = 2
	LimitNone          = 0
	LimitCgroup        = 1
	LimitHost          = 2
	LimitAddress       = 3
	LimitData          = 4
	LimitAddressSpace  = 5
	LimitRegions       = 6
	LimitGiven         = 7
	SchemaVersion      = 1
	ApplicationID      = 1836348003
)

var columns = [...]string{
	"size",
	"committed",
	"charged",
	"private",
	"ws",
	"ws_private",
	"ws_shareable",
	"ws_shared",
	"pss",
	"swap",
	"locked",
	"huge",
	"lazy_free",
	"blocks",
	"largest",
}
